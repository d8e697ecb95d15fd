"""The leader's work: serve fetches, track the progress of replicas, commit, and resign when no
majority fetches any more.

The high watermark is the largest offset that a majority of the voters has on disk. It moves only
over a batch of the leader's own epoch, because batches of older epochs could still be replaced
(Raft, 5.4.2). Until then followers receive it as unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.quorum.core.effects import Effect, Flush, Reply, ReplyWithRecords, ReplyWithSnapshot, WriteBatch
from barnabas.quorum.core.elections import settle
from barnabas.quorum.core.events import Append
from barnabas.quorum.core.log_outline import EMPTY, Diverging, EpochStart, OffsetAndEpoch, Snapshotted
from barnabas.quorum.core.messages import (
    UNKNOWN_HIGH_WATERMARK,
    begin_request,
    endpoints_in,
    fetch_response,
    one_fetched_partition,
    one_partition,
    one_snapshot_partition,
    refused_fetch,
    refused_snapshot,
    replica_in,
    snapshot_response,
)
from barnabas.quorum.core.quorum import NEVER_MS, Quorum, validate_leader_request
from barnabas.quorum.core.roles import Leader, ParkedFetch
from barnabas.quorum.core.settings import FETCH_WAIT_MS_MAX, PARKED_FETCHES_MAX, PIECE_BYTES_MAX
from barnabas.quorum.core.transitions import to_resigned
from barnabas.quorum.core.voter_changes import expire_change, finish_change
from barnabas.quorum.core.voters import ReplicaKey
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochResponse
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest

# -- writing ---------------------------------------------------------------------------------------


def append(quorum: Quorum, event: Append) -> None:
    assert isinstance(quorum.role, Leader), "only a leader appends"
    assert event.payloads, "an empty batch would have no offset"
    base_offset = quorum.log.end_offset
    quorum.log.extend(base_offset + len(event.payloads), [EpochStart(quorum.epoch, base_offset)])
    quorum.emit(
        WriteBatch(quorum.epoch, base_offset, event.payloads),
        Flush(quorum.log.end_offset, quorum.log.generation),
    )


def advance(quorum: Quorum, role: Leader) -> None:
    """Commit everything that a majority has by now."""
    offset = role.progress.committed(quorum.me, quorum.log.flushed_offset)
    if offset > role.epoch_start_offset and (quorum.commit(offset) or not role.established):
        role.established = True
        finish_change(quorum, role)
        _answer_parked(quorum, role, lambda _: True)
        if not quorum.voters.includes(quorum.me) and role.change is None:
            # This node was removed from the voters, and the removal is committed now: it has led
            # the others up to it and can resign.
            latest = quorum.history.latest
            if latest is not None and latest.offset < quorum.high_watermark:
                to_resigned(quorum)


# -- serving fetches -------------------------------------------------------------------------------


def on_fetch_request(quorum: Quorum, token: int, request: FetchRequest, version: int, listener_name: str | None) -> None:
    if not quorum.known_cluster(request.cluster_id):
        quorum.emit(Reply(token, refused_fetch(ErrorCode.INCONSISTENT_CLUSTER_ID)))
        return
    partition = one_fetched_partition(request)
    if partition is None:
        quorum.emit(Reply(token, refused_fetch(ErrorCode.INVALID_REQUEST)))
        return
    replica = replica_in(request, partition)
    error = validate_leader_request(quorum, partition.current_leader_epoch)
    if (
        request.max_wait_ms < 0
        or partition.fetch_offset < 0
        or partition.last_fetched_epoch < 0
        or partition.last_fetched_epoch > partition.current_leader_epoch
        or replica.node_id == quorum.me.node_id
    ):
        error = ErrorCode.INVALID_REQUEST
    role = quorum.role
    if error != ErrorCode.NONE or not isinstance(role, Leader):
        quorum.emit(Reply(token, fetch_response(error, quorum.leader_info(listener_name), version)))
        return
    offset, epoch = partition.fetch_offset, partition.last_fetched_epoch
    size_bytes_max = min(request.max_bytes, partition.partition_max_bytes) if partition.partition_max_bytes > 0 else request.max_bytes
    # Every response has at least one batch, so that each follower makes progress.
    size_bytes_max = max(0, min(size_bytes_max, PIECE_BYTES_MAX))
    verdict = quorum.log.validate(offset, epoch)
    deadline_ms = quorum.now_ms + min(request.max_wait_ms, FETCH_WAIT_MS_MAX)
    fetch = ParkedFetch(token, version, listener_name, offset, epoch, size_bytes_max, deadline_ms)
    if isinstance(verdict, Diverging | Snapshotted):
        quorum.emit(_answer(quorum, role, fetch))
        return
    if replica.node_id >= 0:
        role.progress.fetched(replica, offset, leader_end=quorum.log.end_offset, now_ms=quorum.now_ms)
        record_voter_fetch(quorum, role, replica)
        advance(quorum, role)
        if quorum.role is not role:
            quorum.emit(Reply(token, fetch_response(ErrorCode.NOT_LEADER_OR_FOLLOWER, quorum.leader_info(listener_name), version)))
            return
    news = offset < quorum.log.end_offset or partition.high_watermark < _sent_high_watermark(quorum, role)
    if news or request.max_wait_ms == 0 or len(role.parked) >= PARKED_FETCHES_MAX:
        quorum.emit(_answer(quorum, role, fetch))
    else:
        role.parked.append(fetch)


def _sent_high_watermark(quorum: Quorum, role: Leader) -> int:
    return quorum.high_watermark if role.established else UNKNOWN_HIGH_WATERMARK


def _answer(quorum: Quorum, role: Leader, fetch: ParkedFetch) -> Effect:
    verdict = quorum.log.validate(fetch.offset, fetch.epoch)
    response = fetch_response(
        ErrorCode.NONE,
        quorum.leader_info(fetch.listener_name),
        fetch.version,
        high_watermark=_sent_high_watermark(quorum, role),
        log_start_offset=quorum.log.start_offset,
        diverging=verdict.end if isinstance(verdict, Diverging) else None,
        snapshot=verdict.snapshot if isinstance(verdict, Snapshotted) else None,
    )
    if isinstance(verdict, Diverging | Snapshotted) or fetch.offset >= quorum.log.end_offset:
        return Reply(fetch.token, response)
    return ReplyWithRecords(fetch.token, response, fetch.offset, fetch.size_bytes_max)


def _answer_parked(quorum: Quorum, role: Leader, ready: Callable[[ParkedFetch], bool]) -> None:
    if not role.parked:
        return
    parked, role.parked = role.parked, []
    for fetch in parked:
        if ready(fetch):
            quorum.emit(_answer(quorum, role, fetch))
        else:
            role.parked.append(fetch)


def on_snapshot_request(quorum: Quorum, token: int, request: FetchSnapshotRequest, version: int, listener_name: str | None) -> None:
    if not quorum.known_cluster(request.cluster_id):
        quorum.emit(Reply(token, refused_snapshot(ErrorCode.INCONSISTENT_CLUSTER_ID)))
        return
    partition = one_snapshot_partition(request.topics)
    if partition is None:
        quorum.emit(Reply(token, refused_snapshot(ErrorCode.INVALID_REQUEST)))
        return
    error = validate_leader_request(quorum, partition.current_leader_epoch)
    snapshot = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    if error == ErrorCode.NONE and (snapshot not in quorum.log.snapshots or snapshot == EMPTY):
        error = ErrorCode.SNAPSHOT_NOT_FOUND
    if error == ErrorCode.NONE and (partition.position < 0 or request.max_bytes <= 0):
        error = ErrorCode.POSITION_OUT_OF_RANGE
    role = quorum.role
    if error != ErrorCode.NONE or not isinstance(role, Leader):
        quorum.emit(Reply(token, snapshot_response(error, quorum.leader_info(listener_name), version)))
        return
    record_voter_fetch(quorum, role, ReplicaKey(NodeId(request.replica_id), Uuid(partition.replica_directory_id)))
    response = snapshot_response(ErrorCode.NONE, quorum.leader_info(listener_name), version, snapshot)
    quorum.emit(ReplyWithSnapshot(token, response, snapshot, partition.position, min(request.max_bytes, PIECE_BYTES_MAX)))


# -- check quorum -----------------------------------------------------------------------------


def record_voter_fetch(quorum: Quorum, role: Leader, replica: ReplicaKey) -> None:
    """A voter fetched. When a majority has, including the leader itself, a new period begins."""
    if not quorum.voters.includes(replica):
        return
    role.fetched_voters.add(replica.node_id)
    needed = quorum.voters.majority - (1 if quorum.voters.includes(quorum.me) else 0)
    if len(role.fetched_voters) >= needed:
        role.fetched_voters.clear()
        role.check_quorum_deadline_ms = quorum.now_ms + quorum.check_quorum_ms


def poll_leader(quorum: Quorum, role: Leader) -> None:
    if quorum.stopping or (not quorum.alone and quorum.now_ms >= role.check_quorum_deadline_ms):
        to_resigned(quorum)
        return
    expire_change(quorum, role)
    _answer_parked(quorum, role, lambda parked: parked.offset < quorum.log.end_offset or parked.deadline_ms <= quorum.now_ms)
    if quorum.now_ms >= role.begin_epoch_ms:
        interval_ms = quorum.settings.fetch_timeout_ms // 2
        role.begin_epoch_ms = quorum.now_ms + max(interval_ms, 1)
        for replica in role.progress.voters():
            if replica.key.node_id != quorum.me.node_id and (
                replica.last_fetch_ms < 0 or quorum.now_ms - replica.last_fetch_ms >= interval_ms
            ):
                _announce(quorum, replica.key)


def _announce(quorum: Quorum, replica: ReplicaKey) -> None:
    voter, address = quorum.voters.get(replica.node_id), quorum.address_of_voter(replica.node_id)
    if voter is not None and address is not None:
        request = begin_request(
            quorum.identity.cluster_id,
            epoch=quorum.epoch,
            leader_id=quorum.me.node_id,
            endpoints=quorum.identity.endpoints,
            voter=voter.key,
        )
        quorum.send(address, request, node_id=replica.node_id)


def on_begin_answer(quorum: Quorum, response: BeginQuorumEpochResponse) -> bool:
    partition = one_partition(response.topics)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    endpoints = endpoints_in(response.node_endpoints, partition.leader_id, quorum.identity.listener_name)
    settled = settle(quorum, partition.error_code, partition.leader_id, partition.leader_epoch, endpoints)
    return bool(settled) if settled is not None else partition.error_code == ErrorCode.NONE


def deadline_of_leader(quorum: Quorum, role: Leader) -> int:
    times = [parked.deadline_ms for parked in role.parked]
    if not quorum.alone:
        times += [role.check_quorum_deadline_ms, role.begin_epoch_ms]
    if role.change is not None:
        times.append(role.change.deadline_ms)
    return min(times, default=NEVER_MS)
