"""Fetch (key 1): batches from partitions, at once or when there is enough of them.

Behaviour:
- answered at once when there are ``min_bytes``, when anything is wrong with any partition, or when the client will not wait;
- the first partition with data gives at least one batch, however large, so that a reader always gets on;
- nothing above the high watermark, and for ``read_committed`` nothing above the last stable offset, with the aborted transactions to skip;
- batches are not read here: the answer carries file regions that the kernel sends.

Version notes: sessions from 7; diverging epochs from 12; topic ids from 13. A fetch in a replica's name is refused: followers come
with replication.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise
from barnabas.replication.fetch_sessions import FetchContext, FetchedPartition, PartitionKey
from barnabas.replication.reads import READ_COMMITTED, PartitionRead, read_partition
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.wire.declare import default_struct
from barnabas.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)

_TOPIC_ID_VERSION_MIN = 13
_REPLICA_STATE_VERSION_MIN = 15

# Shared defaults: building three structs for every partition of every answer would cost more than the rest of it.
_NO_DIVERGENCE = default_struct(EpochEndOffset)
_NO_LEADER = default_struct(LeaderIdAndEpoch)
_NO_SNAPSHOT = default_struct(SnapshotId)

Reads = list[tuple[FetchedPartition, PartitionRead]]


def handle(broker: Broker, context: RequestContext, request: FetchRequest) -> Answer[FetchResponse]:
    by_id = context.api_version >= _TOPIC_ID_VERSION_MIN
    named = [
        FetchedPartition(
            topic.topic,
            topic.topic_id,
            partition.partition,
            fetch_offset=partition.fetch_offset,
            size_bytes_max=partition.partition_max_bytes,
            current_leader_epoch=partition.current_leader_epoch,
            last_fetched_epoch=partition.last_fetched_epoch,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]
    fetch = broker.fetch_sessions.begin(
        session_id=request.session_id,
        epoch=request.session_epoch,
        named=named,
        forgotten=[
            PartitionKey(topic.topic, topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions
        ],
        uses_topic_ids=by_id,
        now_ms=broker.clock.monotonic_ms(),
    )
    if isinstance(fetch, ErrorCode):
        return FetchResponse(throttle_time_ms=0, error_code=fetch, session_id=0, responses=[])
    replica_id = request.replica_state.replica_id if context.api_version >= _REPLICA_STATE_VERSION_MIN else request.replica_id
    if replica_id >= 0:
        refused = PartitionRead(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return _respond(broker, fetch, [(each, refused) for each in fetch.partitions], by_id=by_id)

    def read() -> tuple[Reads, int, bool]:
        return _read_all(broker, fetch, request, by_id=by_id)

    reads, size, urgent = read()
    if urgent or size >= request.min_bytes or request.max_wait_ms <= 0 or not fetch.partitions:
        return _respond(broker, fetch, reads, by_id=by_id)
    return _wait(broker, fetch, reads, size, request, read, by_id=by_id)


def _read_all(broker: Broker, fetch: FetchContext, request: FetchRequest, *, by_id: bool) -> tuple[Reads, int, bool]:
    """What is there now, how many bytes, and whether the client should hear of it at once."""
    remaining = min(request.max_bytes, broker.settings.integer("fetch.max.bytes"))
    replicas = broker.replicas
    isolation = request.isolation_level
    reads: Reads = []
    total = 0
    urgent = False
    for each in fetch.partitions:
        topic = replicas.topic_names.get(each.topic_id) if by_id else each.topic
        partition = replicas.get(topic, each.index) if topic is not None else None
        if topic is None:
            read = PartitionRead(ErrorCode.UNKNOWN_TOPIC_ID)
        else:
            try:
                read = read_partition(
                    partition,
                    offset=each.fetch_offset,
                    size_bytes_max=max(0, min(each.size_bytes_max, remaining)),
                    isolation=isolation,
                    current_leader_epoch=each.current_leader_epoch,
                    last_fetched_epoch=each.last_fetched_epoch,
                    at_least_one=total == 0,
                )
            except OSError as error:
                assert partition is not None
                replicas.disk_failed(partition.directory, error)
                read = PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
        if read.error or read.diverging is not None:
            urgent = True
        size = read.size_bytes
        total += size
        remaining -= size
        reads.append((each, read))
    return reads, total, urgent


def _wait(
    broker: Broker,
    fetch: FetchContext,
    reads: Reads,
    size: int,
    request: FetchRequest,
    read: Callable[[], tuple[Reads, int, bool]],
    *,
    by_id: bool,
) -> Promise[FetchResponse]:
    answer: Promise[FetchResponse] = Promise()
    partitions = []
    for each, found in reads:
        if found.region is not None:
            found.region.release()
        topic = broker.replicas.topic_names.get(each.topic_id) if by_id else each.topic
        partition = broker.replicas.get(topic, each.index) if topic is not None else None
        assert partition is not None, "a fetch with an unknown partition is answered at once"
        partitions.append(partition)
    waiting = WaitingFetch(
        partitions,
        missing_bytes=request.min_bytes - size,
        committed_only=request.isolation_level == READ_COMMITTED,
        complete=lambda: answer.resolve(_respond(broker, fetch, read()[0], by_id=by_id)),
    )
    answer.if_abandoned(waiting.cancel)
    waiting.timer = broker.loop.call_later(request.max_wait_ms / 1000, waiting.complete)
    return answer


def _respond(broker: Broker, fetch: FetchContext, reads: Reads, *, by_id: bool) -> FetchResponse:
    responses: list[FetchableTopicResponse] = []
    served = []
    for each, read in reads:
        if fetch.session is not None and not each.news(read) and fetch.incremental:
            continue
        if read.region is not None:
            served.append(each)
            topic = broker.replicas.topic_names[each.topic_id] if by_id else each.topic
            partition = broker.replicas.get(topic, each.index)
            if partition is not None:
                partition.counters.bytes_out.value += len(read.region)
        data = PartitionData(
            partition_index=each.index,
            error_code=read.error,
            high_watermark=read.high_watermark,
            last_stable_offset=read.last_stable_offset,
            log_start_offset=read.log_start_offset,
            diverging_epoch=(
                _NO_DIVERGENCE
                if read.diverging is None
                else EpochEndOffset(epoch=read.diverging.epoch, end_offset=read.diverging.start_offset)
            ),
            current_leader=_NO_LEADER,
            snapshot_id=_NO_SNAPSHOT,
            aborted_transactions=(
                None
                if read.aborted is None
                else [AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset) for one in read.aborted]
            ),
            records=read.region if read.region is not None else b"",
        )
        if responses and responses[-1].topic == each.topic and responses[-1].topic_id == each.topic_id:
            responses[-1].partitions.append(data)
        else:
            responses.append(FetchableTopicResponse(topic=each.topic, topic_id=each.topic_id, partitions=[data]))
    if fetch.session is not None:
        fetch.session.serve_last(served)
    return FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=fetch.session_id, responses=responses)
