"""The quorum's requests and responses: how they are built, and how their parts are read.

All concern one partition, the metadata log. Every response names the leader and its epoch, and from
the versions with dynamic voters on also its endpoint; :class:`LeaderInfo` is that part. A message
of the wrong shape is read as None and never raises, because it came from another node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_PARTITION, METADATA_TOPIC, METADATA_TOPIC_ID, LeaderEpoch, NodeId, Uuid
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.voters import Endpoint, ReplicaKey
from barnabas.wire.messages import begin_quorum_epoch as begin, end_quorum_epoch as end, fetch, fetch_snapshot, vote
from barnabas.wire.messages.update_raft_voter import CurrentLeader, UpdateRaftVoterResponse

_ENDPOINTS_VERSION_MIN = 1
_FETCH_LEADER_VERSION_MIN = 12
_FETCH_ENDPOINTS_VERSION_MIN = 17
# The high watermark in a response of a node that does not know it.
UNKNOWN_HIGH_WATERMARK = -1


class LeaderInfo(NamedTuple):
    leader_id: NodeId
    epoch: LeaderEpoch
    # The leader's endpoint on the listener on which the request arrived.
    address: tuple[str, int] | None = None


def one_partition(topics: Sequence[Any]) -> Any | None:
    """The single partition of the single topic in a vote, begin or end message; None unless it is
    the metadata log."""
    if len(topics) != 1 or topics[0].topic_name != METADATA_TOPIC or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    return partition if partition.partition_index == METADATA_PARTITION.partition else None


def one_fetched_partition(request: fetch.FetchRequest) -> fetch.FetchPartition | None:
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return None
    topic = request.topics[0]
    if topic.topic_id != METADATA_TOPIC_ID and topic.topic != METADATA_TOPIC:
        return None
    return topic.partitions[0] if topic.partitions[0].partition == METADATA_PARTITION.partition else None


def endpoints_in(nodes: Iterable[Any], leader_id: int, listener_name: str) -> tuple[Endpoint, ...]:
    """The leader's endpoint in a response. The response gives only the endpoints of the listener on
    which the request arrived, without its name."""
    return tuple(Endpoint(listener_name, node.host, node.port) for node in nodes if node.node_id == leader_id and node.host)


# -- votes -----------------------------------------------------------------------------------------


def vote_request(
    cluster_id: str, *, epoch: int, candidate: ReplicaKey, voter: ReplicaKey, end_of_log: OffsetAndEpoch, pre_vote: bool
) -> vote.VoteRequest:
    partition = vote.PartitionData(
        partition_index=METADATA_PARTITION.partition,
        replica_epoch=epoch,
        replica_id=candidate.node_id,
        replica_directory_id=candidate.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=end_of_log.epoch,
        last_offset=end_of_log.offset,
        pre_vote=pre_vote,
    )
    topic = vote.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return vote.VoteRequest(cluster_id=cluster_id, voter_id=voter.node_id, topics=[topic])


def vote_response(error: ErrorCode, leader: LeaderInfo, version: int, *, granted: bool) -> vote.VoteResponse:
    partition = vote.ResponsePartitionData(
        partition_index=METADATA_PARTITION.partition,
        error_code=error,
        leader_id=leader.leader_id,
        leader_epoch=leader.epoch,
        vote_granted=granted,
    )
    nodes = []
    if leader.address is not None and version >= _ENDPOINTS_VERSION_MIN:
        nodes = [vote.NodeEndpoint(node_id=leader.leader_id, host=leader.address[0], port=leader.address[1])]
    return vote.VoteResponse(
        error_code=ErrorCode.NONE,
        topics=[vote.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
        node_endpoints=nodes,
    )


def refused_vote(error: ErrorCode) -> vote.VoteResponse:
    return vote.VoteResponse(error_code=error, topics=[])


# -- the beginning and the end of an epoch -----------------------------------------------------


def begin_request(
    cluster_id: str, *, epoch: int, leader_id: NodeId, endpoints: Iterable[Endpoint], voter: ReplicaKey
) -> begin.BeginQuorumEpochRequest:
    partition = begin.PartitionData(
        partition_index=METADATA_PARTITION.partition, voter_directory_id=voter.directory_id, leader_id=leader_id, leader_epoch=epoch
    )
    return begin.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter.node_id,
        topics=[begin.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
        leader_endpoints=[begin.LeaderEndpoint(name=each.name, host=each.host, port=each.port) for each in endpoints],
    )


def begin_response(error: ErrorCode, leader: LeaderInfo, version: int) -> begin.BeginQuorumEpochResponse:
    partition = begin.ResponsePartitionData(
        partition_index=METADATA_PARTITION.partition, error_code=error, leader_id=leader.leader_id, leader_epoch=leader.epoch
    )
    nodes = []
    if leader.address is not None and version >= _ENDPOINTS_VERSION_MIN:
        nodes = [begin.NodeEndpoint(node_id=leader.leader_id, host=leader.address[0], port=leader.address[1])]
    return begin.BeginQuorumEpochResponse(
        error_code=ErrorCode.NONE,
        topics=[begin.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
        node_endpoints=nodes,
    )


def refused_begin(error: ErrorCode) -> begin.BeginQuorumEpochResponse:
    return begin.BeginQuorumEpochResponse(error_code=error, topics=[])


def end_request(
    cluster_id: str, *, epoch: int, leader_id: NodeId, endpoints: Iterable[Endpoint], successors: Sequence[ReplicaKey]
) -> end.EndQuorumEpochRequest:
    partition = end.PartitionData(
        partition_index=METADATA_PARTITION.partition,
        leader_id=leader_id,
        leader_epoch=epoch,
        preferred_successors=[key.node_id for key in successors],
        preferred_candidates=[end.ReplicaInfo(candidate_id=key.node_id, candidate_directory_id=key.directory_id) for key in successors],
    )
    return end.EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[end.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
        leader_endpoints=[end.LeaderEndpoint(name=each.name, host=each.host, port=each.port) for each in endpoints],
    )


def successors_in(partition: end.PartitionData) -> list[ReplicaKey]:
    """Version 0 has only ids."""
    if partition.preferred_candidates:
        return [ReplicaKey(NodeId(each.candidate_id), Uuid(each.candidate_directory_id)) for each in partition.preferred_candidates]
    return [ReplicaKey(NodeId(each)) for each in partition.preferred_successors]


def end_response(error: ErrorCode, leader: LeaderInfo, version: int) -> end.EndQuorumEpochResponse:
    partition = end.ResponsePartitionData(
        partition_index=METADATA_PARTITION.partition, error_code=error, leader_id=leader.leader_id, leader_epoch=leader.epoch
    )
    nodes = []
    if leader.address is not None and version >= _ENDPOINTS_VERSION_MIN:
        nodes = [end.NodeEndpoint(node_id=leader.leader_id, host=leader.address[0], port=leader.address[1])]
    return end.EndQuorumEpochResponse(
        error_code=ErrorCode.NONE,
        topics=[end.ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
        node_endpoints=nodes,
    )


def refused_end(error: ErrorCode) -> end.EndQuorumEpochResponse:
    return end.EndQuorumEpochResponse(error_code=error, topics=[])


# -- fetches ---------------------------------------------------------------------------------------


def fetch_request(
    cluster_id: str,
    *,
    replica: ReplicaKey,
    epoch: int,
    end_of_log: OffsetAndEpoch,
    log_start_offset: int,
    high_watermark: int,
    wait_ms_max: int,
    size_bytes_max: int,
) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=METADATA_PARTITION.partition,
        current_leader_epoch=epoch,
        fetch_offset=end_of_log.offset,
        last_fetched_epoch=end_of_log.epoch,
        log_start_offset=log_start_offset,
        partition_max_bytes=size_bytes_max,
        replica_directory_id=replica.directory_id,
        high_watermark=high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch.ReplicaState(replica_id=replica.node_id),
        max_wait_ms=wait_ms_max,
        min_bytes=0,
        max_bytes=size_bytes_max,
        topics=[fetch.FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def replica_in(request: fetch.FetchRequest, partition: fetch.FetchPartition) -> ReplicaKey:
    """Before version 15 the replica's id is a field of its own."""
    replica_id = request.replica_id if request.replica_id >= 0 else request.replica_state.replica_id
    return ReplicaKey(NodeId(replica_id), Uuid(partition.replica_directory_id))


def fetch_response(
    error: ErrorCode,
    leader: LeaderInfo,
    version: int,
    *,
    high_watermark: int = UNKNOWN_HIGH_WATERMARK,
    log_start_offset: int = -1,
    diverging: OffsetAndEpoch | None = None,
    snapshot: OffsetAndEpoch | None = None,
) -> fetch.FetchResponse:
    partition = fetch.PartitionData(
        partition_index=METADATA_PARTITION.partition,
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        aborted_transactions=[],
        records=b"",
    )
    if version >= _FETCH_LEADER_VERSION_MIN:
        # Replicas send their last epoch from this version on; requests in older versions are
        # refused anyway.
        partition.current_leader = fetch.LeaderIdAndEpoch(leader_id=leader.leader_id, leader_epoch=leader.epoch)
    if diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
    if snapshot is not None:
        partition.snapshot_id = fetch.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch)
    nodes = []
    if leader.address is not None and version >= _FETCH_ENDPOINTS_VERSION_MIN:
        nodes = [fetch.NodeEndpoint(node_id=leader.leader_id, host=leader.address[0], port=leader.address[1])]
    topic = fetch.FetchableTopicResponse(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return fetch.FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, responses=[topic], node_endpoints=nodes)


def refused_fetch(error: ErrorCode) -> fetch.FetchResponse:
    return fetch.FetchResponse(throttle_time_ms=0, error_code=error, responses=[])


def one_fetch_answer(response: fetch.FetchResponse) -> fetch.PartitionData | None:
    if len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
        return None
    topic = response.responses[0]
    if topic.topic_id != METADATA_TOPIC_ID and topic.topic != METADATA_TOPIC:
        return None
    return topic.partitions[0] if topic.partitions[0].partition_index == METADATA_PARTITION.partition else None


# -- snapshots -------------------------------------------------------------------------------------


def snapshot_request(
    cluster_id: str, *, replica: ReplicaKey, epoch: int, snapshot: OffsetAndEpoch, position: int, size_bytes_max: int
) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.PartitionSnapshot(
        partition=METADATA_PARTITION.partition,
        current_leader_epoch=epoch,
        snapshot_id=fetch_snapshot.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
        position=position,
        replica_directory_id=replica.directory_id,
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=replica.node_id,
        max_bytes=size_bytes_max,
        topics=[fetch_snapshot.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
    )


def one_snapshot_partition(topics: Sequence[Any]) -> Any | None:
    """The partition of a request or of a response."""
    if len(topics) != 1 or topics[0].name != METADATA_TOPIC or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    index = partition.partition if isinstance(partition, fetch_snapshot.PartitionSnapshot) else partition.index
    return partition if index == METADATA_PARTITION.partition else None


def snapshot_response(
    error: ErrorCode, leader: LeaderInfo, version: int, snapshot: OffsetAndEpoch = OffsetAndEpoch(-1, -1)
) -> fetch_snapshot.FetchSnapshotResponse:
    """The response without the piece; the shell adds the size and the bytes when it reads them."""
    partition = fetch_snapshot.ResponsePartitionSnapshot(
        index=METADATA_PARTITION.partition,
        error_code=error,
        snapshot_id=fetch_snapshot.ResponseSnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
        current_leader=fetch_snapshot.LeaderIdAndEpoch(leader_id=leader.leader_id, leader_epoch=leader.epoch),
        size=0,
        position=0,
        unaligned_records=b"",
    )
    nodes = []
    if leader.address is not None and version >= _ENDPOINTS_VERSION_MIN:
        nodes = [fetch_snapshot.NodeEndpoint(node_id=leader.leader_id, host=leader.address[0], port=leader.address[1])]
    return fetch_snapshot.FetchSnapshotResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        topics=[fetch_snapshot.ResponseTopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
        node_endpoints=nodes,
    )


def refused_snapshot(error: ErrorCode) -> fetch_snapshot.FetchSnapshotResponse:
    return fetch_snapshot.FetchSnapshotResponse(throttle_time_ms=0, error_code=error, topics=[])


# -- voters ----------------------------------------------------------------------------------------


def update_voter_response(error: ErrorCode, leader: LeaderInfo) -> UpdateRaftVoterResponse:
    host, port = leader.address or ("", 0)
    return UpdateRaftVoterResponse(
        throttle_time_ms=0,
        error_code=error,
        current_leader=CurrentLeader(leader_id=leader.leader_id, leader_epoch=leader.epoch, host=host, port=port),
    )
