"""One Fetch request from its partitions to its response: read, wait if there is too little,
respond.

Permissions, leadership and offsets are checked for every request. So a request that was decoded
(:mod:`~barnabas.api.broker_apis.fetch`) and one that was recognised by its bytes
(:mod:`~barnabas.api.fetch.shortcut`) get the same response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from barnabas.api.broker import Broker
from barnabas.api.fetch.readers import Reader
from barnabas.api.leader_hints import HINTED, LeaderHints, not_here, topic_name
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.network.caller import Caller
from barnabas.replication.fetch_sessions import FetchContext, FetchedPartition, PartitionKey
from barnabas.replication.partition import Partition
from barnabas.replication.reads import PartitionRead
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.telemetry.catalogue import REMOTE_FETCHES_EXPIRED
from barnabas.wire.declare import default_struct
from barnabas.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from barnabas.wire.types import RecordsInMemory

TOPIC_ID_VERSION_MIN = 13
_HINTS_VERSION_MIN = 16

# The size of a partition in a response, without its records. Quotas count it, and the exact size,
# which depends on the version, makes no difference to a rate.
_PARTITION_BYTES = 40

# Shared defaults: building three structs for every partition would cost more than the rest of the
# response.
_NO_DIVERGENCE = default_struct(EpochEndOffset)
_NO_LEADER = default_struct(LeaderIdAndEpoch)
_NO_SNAPSHOT = default_struct(SnapshotId)

T = TypeVar("T")


def named_partitions(request: FetchRequest) -> list[FetchedPartition]:
    return [
        FetchedPartition(
            PartitionKey(topic.topic, topic.topic_id, partition.partition),
            fetch_offset=partition.fetch_offset,
            size_bytes_max=partition.partition_max_bytes,
            current_leader_epoch=partition.current_leader_epoch,
            last_fetched_epoch=partition.last_fetched_epoch,
            log_start_offset=partition.log_start_offset,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]


class ReadEntry(NamedTuple):
    """A partition of the request, its replica on this node, and what was read from it."""

    asked: FetchedPartition
    partition: Partition | None
    read: PartitionRead


class Fetching:
    __slots__ = ("_broker", "_by_id", "_caller", "_context", "_reader", "_request")

    def __init__(self, broker: Broker, caller: Caller, request: FetchRequest, context: FetchContext, reader: Reader) -> None:
        self._broker = broker
        self._caller = caller
        self._request = request
        self._context = context
        self._by_id = caller.version >= TOPIC_ID_VERSION_MIN
        self._reader = reader

    def serve(self, respond: Callable[[list[ReadEntry]], T]) -> Answer[T]:
        """What ``respond`` makes of the reads: at once, or when there is enough to read."""
        request, reader, meter = self._request, self._reader, self._caller.meter
        if meter is not None:
            # A client that only names itself a follower may read nothing, and is not exempt.
            meter.exempt = reader.follower and reader.may_read("")
            if not reader.follower:
                request.max_bytes = min(request.max_bytes, meter.fetch_bytes_max())
                request.min_bytes = min(request.min_bytes, request.max_bytes)
        reads, size, urgent, remote = self._read_all()
        if remote:
            return self._read_remotely(reads, remote, respond)
        if urgent or size >= request.min_bytes or request.max_wait_ms <= 0 or not self._context.partitions:
            return respond(reads)
        return self._wait(reads, size, respond)

    # -- reading -----------------------------------------------------------------------------------

    def _read_all(self) -> tuple[list[ReadEntry], int, bool, list[int]]:
        """The reads, their size in bytes, whether to respond at once, and the positions of the
        reads that need remote storage.
        """
        broker, reader = self._broker, self._reader
        remaining = min(self._request.max_bytes, broker.settings.integer("fetch.max.bytes"))
        checks_access = broker.access.enabled
        reads: list[ReadEntry] = []
        total = 0
        urgent = False
        remote: list[int] = []
        for each in self._context.partitions:
            topic = self._topic(each)
            partition = broker.replicas.get(topic, each.index) if topic is not None else None
            if topic is None:
                read = PartitionRead(ErrorCode.UNKNOWN_TOPIC_ID)
            elif checks_access and not reader.may_read(topic):
                read = PartitionRead(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif partition is None:
                read = PartitionRead(not_here(broker, topic, each.index))
            else:
                try:
                    read = reader.read(partition, each, max(0, min(each.size_bytes_max, remaining)), at_least_one=total == 0)
                except OSError as error:
                    broker.replicas.disk_failed(partition.directory, error)
                    read = PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
            urgent = urgent or read.urgent
            size = read.size_bytes
            if read.remote_bytes_max:
                # The size of a remote read is not known yet; reserve its maximum, so that the
                # response does not exceed ``max_bytes``.
                remote.append(len(reads))
                size = read.remote_bytes_max
            total += size
            remaining -= size
            reads.append(ReadEntry(each, partition, read))
        return reads, total, urgent, remote

    def _topic(self, each: FetchedPartition) -> str | None:
        return topic_name(self._broker, each.topic_id) if self._by_id else each.topic

    def _read_remotely(self, reads: list[ReadEntry], remote: list[int], respond: Callable[[list[ReadEntry]], T]) -> Promise[T]:
        """Local reads wait for the remote ones."""
        broker = self._broker
        answer: Promise[T] = Promise()
        asked: dict[int, Promise[PartitionRead]] = {}
        for slot in remote:
            each, partition, read = reads[slot]
            assert partition is not None, "a remote read has a replica here"
            if broker.remote_log is None:
                # The topic is tiered, and this broker runs without tiered storage.
                asked[slot] = Promise.kept(PartitionRead(ErrorCode.REPLICA_NOT_AVAILABLE))
                continue
            asked[slot] = broker.remote_log.read(
                partition,
                each.fetch_offset,
                size_bytes_max=read.remote_bytes_max,
                at_least_one=read.remote_first,
                committed=self._reader.committed_only,
            )

        def complete() -> None:
            if answer.done:
                return
            timer.cancel()
            for slot, promise in asked.items():
                if promise.done:
                    reads[slot] = reads[slot]._replace(read=promise.value)
            answer.resolve(respond(reads))

        def expire() -> None:
            broker.metrics.counter(REMOTE_FETCHES_EXPIRED).value += 1
            complete()
            for promise in asked.values():
                promise.abandon()

        def give_up() -> None:
            timer.cancel()
            for promise in asked.values():
                promise.abandon()
            _release(reads)

        wait_ms = broker.metadata.effective.broker["remote.fetch.max.wait.ms"]
        assert isinstance(wait_ms, int)
        timer = broker.loop.call_later(wait_ms / 1000, expire)
        answer.if_abandoned(give_up)
        all_of(list(asked.values())).then(lambda _: complete())
        return answer

    # -- waiting -----------------------------------------------------------------------------------

    def _wait(self, reads: list[ReadEntry], size: int, respond: Callable[[list[ReadEntry]], T]) -> Promise[T]:
        answer: Promise[T] = Promise()
        loop, request, reader = self._broker.loop, self._request, self._reader
        reader.waits()
        _release(reads)
        partitions = []
        missed = False
        for each, partition, read in reads:
            assert partition is not None, "a fetch with an unknown partition is answered at once"
            partitions.append(partition)
            missed = missed or (not read.size_bytes and reader.missed(partition, each))

        def complete() -> None:
            answer.resolve(respond(self._read_all()[0]))

        waiting = WaitingFetch(
            partitions,
            missing_bytes=request.min_bytes - size,
            committed_only=reader.committed_only,
            follower=reader.follower,
            # Batches that other producers append in the same turn of the loop go to a follower in
            # the same response.
            complete=(lambda: loop.call_soon(complete)) if reader.follower else complete,
        )
        answer.if_abandoned(waiting.cancel)
        waiting.timer = loop.call_later(request.max_wait_ms / 1000, waiting.complete)
        if missed:
            waiting.complete()
        return answer

    # -- responding --------------------------------------------------------------------------------

    def respond(self, reads: list[ReadEntry]) -> FetchResponse:
        meter = self._caller.meter
        if meter is not None and not self._reader.follower and not meter.fetched(_size(reads)):
            return self._withhold(reads)
        return self.response(self.include(reads))

    def include(self, reads: list[ReadEntry]) -> list[ReadEntry]:
        """The reads that belong into the response; they count as sent."""
        session, incremental = self._context.session, self._context.incremental
        included = []
        served = []
        for entry in reads:
            each, partition, read = entry
            if session is not None and not each.news(read) and incremental:
                continue
            included.append(entry)
            size = read.size_bytes
            if size:
                served.append(each)
                if partition is not None:
                    self._reader.sent(partition, size)
        if session is not None:
            session.serve_last(served)
        return included

    def response(self, included: list[ReadEntry]) -> FetchResponse:
        responses: list[FetchableTopicResponse] = []
        hints: LeaderHints | None = None
        for each, _, read in included:
            leader = _NO_LEADER
            if read.error in HINTED and self._caller.version >= _HINTS_VERSION_MIN:
                hints = hints or LeaderHints(self._broker, self._caller.listener)
                hint = hints.leader_of(self._topic(each), each.index)
                if hint is not None:
                    leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
            data = _partition_data(each, read, leader)
            if responses and responses[-1].topic == each.topic and responses[-1].topic_id == each.topic_id:
                responses[-1].partitions.append(data)
            else:
                responses.append(FetchableTopicResponse(topic=each.topic, topic_id=each.topic_id, partitions=[data]))
        response = FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=self.session_id, responses=responses)
        # Followers learn addresses from the metadata, and Kafka does not send them any.
        if hints is not None and not self._reader.follower:
            response.node_endpoints = [
                NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack) for each in hints.addresses()
            ]
        return response

    @property
    def session_id(self) -> int:
        return self._context.session_id

    def _withhold(self, reads: list[ReadEntry]) -> FetchResponse:
        """The response to a consumer that is over its quota. The dispatcher adds the wait."""
        _release(reads)
        session_id = self._broker.fetch_sessions.withdraw(self._context)
        return FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=session_id, responses=[])


def _partition_data(each: FetchedPartition, read: PartitionRead, leader: LeaderIdAndEpoch) -> PartitionData:
    # Records from remote storage are megabytes, which the frame need not copy.
    records = read.region if read.region is not None else RecordsInMemory(read.records) if read.records is not None else b""
    return PartitionData(
        partition_index=each.index,
        error_code=read.error,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        diverging_epoch=(
            _NO_DIVERGENCE if read.diverging is None else EpochEndOffset(epoch=read.diverging.epoch, end_offset=read.diverging.start_offset)
        ),
        current_leader=leader,
        snapshot_id=_NO_SNAPSHOT,
        aborted_transactions=(
            None
            if read.aborted is None
            else [AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset) for one in read.aborted]
        ),
        preferred_read_replica=read.preferred_replica,
        records=records,
    )


def _size(reads: list[ReadEntry]) -> int:
    """Of a response, for quotas."""
    return sum(_PARTITION_BYTES + read.size_bytes for _, _, read in reads if read.size_bytes or read.error)


def _release(reads: list[ReadEntry]) -> None:
    for _, _, read in reads:
        if read.region is not None:
            read.region.release()
