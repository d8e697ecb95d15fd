"""The response to DescribeQuorum, from the status of the quorum."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_PARTITION, ZERO_UUID
from barnabas.quorum.status import QuorumReplica, QuorumStatus
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)

_DIRECTORIES_VERSION_MIN = 2


def describe_quorum(status: QuorumStatus, request: DescribeQuorumRequest, version: int) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, partition.partition_index) for topic in request.topics for partition in topic.partitions]
    if asked != [METADATA_PARTITION]:
        return _refused(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not status.leading:
        return _refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition = ResponsePartitionData(
        partition_index=METADATA_PARTITION.partition,
        error_code=ErrorCode.NONE,
        leader_id=status.leader_id,
        leader_epoch=status.leader_epoch,
        high_watermark=status.high_watermark,
        current_voters=[_replica(each) for each in status.voters],
        observers=[_replica(each) for each in status.observers],
    )
    response = DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        topics=[ResponseTopicData(topic_name=METADATA_PARTITION.topic, partitions=[partition])],
        nodes=[
            Node(node_id=node_id, listeners=[Listener(name=name, host=host, port=port) for name, host, port in listeners])
            for node_id, listeners in sorted(status.nodes.items())
        ],
    )
    return fit_to_version(response, version)


def fit_to_version(response: DescribeQuorumResponse, version: int) -> DescribeQuorumResponse:
    """Leave out the fields that older versions do not have."""
    if version < _DIRECTORIES_VERSION_MIN:
        response.nodes = []
        for topic in response.topics:
            for partition in topic.partitions:
                for replica in (*partition.current_voters, *partition.observers):
                    replica.replica_directory_id = ZERO_UUID
    return response


def _refused(request: DescribeQuorumRequest, error: ErrorCode) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    ResponsePartitionData(
                        partition_index=partition.partition_index,
                        error_code=error,
                        leader_id=0,
                        leader_epoch=0,
                        high_watermark=0,
                        current_voters=[],
                        observers=[],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _replica(replica: QuorumReplica) -> ReplicaState:
    return ReplicaState(
        replica_id=replica.replica_id,
        replica_directory_id=replica.directory_id,
        log_end_offset=replica.log_end_offset,
        last_fetch_timestamp=replica.last_fetch_timestamp,
        last_caught_up_timestamp=replica.last_caught_up_timestamp,
    )
