"""Fetch (key 1): batches of partitions, at once or when enough data has arrived; for consumers and
followers.

Behaviour:
- the response is sent at once if there are ``min_bytes``, if any partition has an error, or if the
  client does not want to wait;
- the first partition with data returns at least one batch of any size, so that a reader always
  makes progress;
- consumers read up to the high watermark, or with ``read_committed`` up to the last stable offset,
  with a list of the aborted transactions to skip. They may read from any replica (KIP-392), and a
  leader that knows a replica in the consumer's rack redirects the consumer to it;
- TOPIC_AUTHORIZATION_FAILED for a topic that the caller may not read, and for all topics if the
  caller names itself a follower and is no broker;
- followers read to the log end. The fetch offset of a follower acknowledges everything below it,
  which moves the high watermark. UNKNOWN_LEADER_EPOCH for a broker that is not one of the replicas,
  NOT_LEADER_OR_FOLLOWER for one that has restarted since;
- a consumer that is over its quota gets a response without partitions, and asks again for the same
  after its wait. With a quota, ``max_bytes`` is at most what the quota allows after a long pause;
- replicas that are being moved and are out of sync share ``leader.replication.throttled.rate``;
- a reader that is beyond the end of its last epoch gets that end as a diverging epoch, and
  truncates its log;
- for consumers the broker reads offsets below the local log from remote storage, for all such
  partitions of a request at once, and answers when the data has arrived or
  ``remote.fetch.max.wait.ms`` has passed. A follower gets OFFSET_MOVED_TO_TIERED_STORAGE and begins
  where the local log does;
- the broker does not open batches here: the response carries file regions, which the kernel sends.
  It checks only a batch that a follower fetches a second time. If the batch is damaged on this
  broker's disk, an in-sync replica takes over leadership and this broker fetches the replica again.

Version notes: sessions from 7; reading from followers from 11; diverging epochs from 12; topic ids
from 13; the replica epoch from 15; a broker that is not the leader names the leader from 16
(KIP-951).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import HINTED, LeaderHints, not_here, topic_name
from barnabas.api.needs import CLUSTER_ACTION, READ_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.network.caller import Caller
from barnabas.replication.fetch_sessions import FetchContext, FetchedPartition, PartitionKey
from barnabas.replication.partition import Partition
from barnabas.replication.read_replicas import RACK_AWARE_SELECTOR, preferred_replica
from barnabas.replication.reads import READ_COMMITTED, PartitionRead, damage_in, read_for_follower, read_partition
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.storage.regions import FileRegion
from barnabas.telemetry.catalogue import REMOTE_FETCHES_EXPIRED, REPLICATION_BYTES_OUT
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

NEEDS = checked(READ_TOPIC, CLUSTER_ACTION)

_READ_FROM_FOLLOWERS_VERSION_MIN = 11
_TOPIC_ID_VERSION_MIN = 13
_REPLICA_STATE_VERSION_MIN = 15
_HINTS_VERSION_MIN = 16

# The size of a partition in a response, without its records. Quotas count it, and the exact size,
# which depends on the version, makes no difference to a rate.
_PARTITION_BYTES = 40

# Shared defaults: building three structs for every partition would cost more than the rest of the
# response.
_NO_DIVERGENCE = default_struct(EpochEndOffset)
_NO_LEADER = default_struct(LeaderIdAndEpoch)
_NO_SNAPSHOT = default_struct(SnapshotId)

Reads = list[tuple[FetchedPartition, PartitionRead]]


def handle(broker: Broker, caller: Caller, request: FetchRequest) -> Answer[FetchResponse]:
    by_id = caller.version >= _TOPIC_ID_VERSION_MIN
    named = [
        FetchedPartition(
            topic.topic,
            topic.topic_id,
            partition.partition,
            fetch_offset=partition.fetch_offset,
            size_bytes_max=partition.partition_max_bytes,
            current_leader_epoch=partition.current_leader_epoch,
            last_fetched_epoch=partition.last_fetched_epoch,
            log_start_offset=partition.log_start_offset,
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
    reader = _Follower(broker, caller, request) if _replica_id(caller, request) >= 0 else _Consumer(broker, caller, request)
    if caller.meter is not None:
        # A client that only names itself a follower may read nothing, and is not exempt.
        caller.meter.exempt = reader.follower and reader.may_read("")
        if not reader.follower:
            request.max_bytes = min(request.max_bytes, caller.meter.fetch_bytes_max())
            request.min_bytes = min(request.min_bytes, request.max_bytes)
    reads, size, urgent, remote = _read_all(broker, fetch, request, reader, by_id=by_id)
    if remote:
        return _read_remotely(broker, caller, fetch, reads, remote, reader, by_id=by_id)
    if urgent or size >= request.min_bytes or request.max_wait_ms <= 0 or not fetch.partitions:
        return _respond(broker, caller, fetch, reads, reader, by_id=by_id)
    return _wait(broker, caller, fetch, reads, size, request, reader, by_id=by_id)


def _replica_id(caller: Caller, request: FetchRequest) -> int:
    return request.replica_state.replica_id if caller.version >= _REPLICA_STATE_VERSION_MIN else request.replica_id


class _Consumer:
    """Reads committed records, from any replica."""

    follower = False

    def __init__(self, broker: Broker, caller: Caller, request: FetchRequest) -> None:
        self.committed_only = request.isolation_level == READ_COMMITTED
        self._broker = broker
        self._isolation = request.isolation_level
        self._listener = caller.listener
        self._leader_only = caller.version < _READ_FROM_FOLLOWERS_VERSION_MIN
        selects = request.rack_id and broker.settings.text_or_none("replica.selector.class") == RACK_AWARE_SELECTOR
        self._rack = request.rack_id if selects else ""
        self._caller = caller
        self._verdicts: dict[str, bool] = {}

    def may_read(self, topic: str) -> bool:
        """One decision for all partitions of a topic."""
        found = self._verdicts.get(topic)
        if found is None:
            found = self._verdicts[topic] = self._broker.access.may(self._caller, READ_TOPIC, topic)
        return found

    def read(self, partition: Partition | None, each: FetchedPartition, size_bytes_max: int, *, at_least_one: bool) -> PartitionRead:
        if self._rack and partition is not None and partition.leads:
            replica = preferred_replica(
                partition, self._rack, each.fetch_offset, listener=self._listener, broker=self._broker.metadata.image.cluster.brokers.get
            )
            if replica is not None:
                start, stable = partition.log.log_start_offset, partition.last_stable_offset
                return PartitionRead(ErrorCode.NONE, partition.high_watermark, stable, start, preferred_replica=replica)
        return read_partition(
            partition,
            offset=each.fetch_offset,
            size_bytes_max=size_bytes_max,
            isolation=self._isolation,
            current_leader_epoch=each.current_leader_epoch,
            last_fetched_epoch=each.last_fetched_epoch,
            at_least_one=at_least_one,
            leader_only=self._leader_only,
        )

    def waits(self) -> None:
        pass

    def missed(self, _: Partition, __: FetchedPartition) -> bool:
        """The fetch of a consumer appends nothing."""
        return False

    @staticmethod
    def sent(partition: Partition, size_bytes: int) -> None:
        partition.counters.bytes_out.value += size_bytes


class _Follower:
    """Reads to the log end. Its fetch offset acknowledges all below it, once for each request."""

    follower = True
    committed_only = False

    def __init__(self, broker: Broker, caller: Caller, request: FetchRequest) -> None:
        self._broker = broker
        self._replica = _replica_id(caller, request)
        self._epoch = request.replica_state.replica_epoch if caller.version >= _REPLICA_STATE_VERSION_MIN else -1
        self._now_ms = broker.clock.monotonic_ms()
        self._throttle = broker.replicas.throttles.leader
        self._acknowledges = True
        self._commits = False
        self._throttled: set[TopicPartition] = set()
        self._is_broker = broker.access.may(caller, CLUSTER_ACTION)

    def may_read(self, topic: str) -> bool:
        """A broker may read every topic."""
        return self._is_broker

    def read(self, partition: Partition | None, each: FetchedPartition, size_bytes_max: int, *, at_least_one: bool) -> PartitionRead:
        if partition is not None and partition.nothing_new(
            self._replica,
            offset=each.fetch_offset,
            log_start_offset=each.log_start_offset,
            leader_epoch=each.current_leader_epoch,
            last_epoch=each.last_fetched_epoch,
            replica_epoch=self._epoch,
            now_ms=self._now_ms,
        ):
            # Most partitions of a fetch are idle, and reading one costs as much as this whole
            # check.
            return PartitionRead(ErrorCode.NONE, partition.high_watermark, partition.last_stable_offset, partition.log.log_start_offset)
        if partition is not None and self._replica not in partition.isr and self._throttle.holds(partition.partition, self._now_ms):
            # The fetch still counts as progress of the follower, which would otherwise seem dead.
            size_bytes_max, at_least_one = 0, False
            self._throttled.add(partition.partition)
        read = read_for_follower(
            partition,
            self._replica,
            offset=each.fetch_offset,
            size_bytes_max=size_bytes_max,
            current_leader_epoch=each.current_leader_epoch,
            last_fetched_epoch=each.last_fetched_epoch,
            at_least_one=at_least_one,
        )
        if partition is None or read.error or read.diverging is not None:
            return read
        if read.region is not None and self._is_damaged(partition, each.fetch_offset, read.region):
            read.region.release()
            return PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
        if not self._acknowledges:
            return read
        refused = partition.follower_fetched(
            self._replica,
            offset=each.fetch_offset,
            log_start_offset=each.log_start_offset,
            replica_epoch=self._epoch,
            now_ms=self._now_ms,
        )
        if refused:
            if read.region is not None:
                read.region.release()
            return PartitionRead(refused)
        # This fetch may have moved the high watermark.
        self._commits = self._commits or partition.high_watermark != read.high_watermark
        return read._replace(high_watermark=partition.high_watermark)

    def missed(self, partition: Partition, each: FetchedPartition) -> bool:
        """Whether this fetch itself made the partition grow after it had been read.

        A commit answers requests and has effects: a coordinator whose decision is committed writes
        the markers of the transaction, perhaps into a partition that was read a moment ago. No
        fetch was waiting there, so the append has woken none.
        """
        return self._commits and partition.log.log_end_offset > each.fetch_offset and partition.partition not in self._throttled

    def _is_damaged(self, partition: Partition, offset: int, region: FileRegion) -> bool:
        """A follower that fetches an offset again may have found a wrong checksum, so verify the
        batch before sending it a second time.
        """
        assert partition.leadership is not None
        progress = partition.leadership.followers[self._replica]
        suspicious, progress.sent_offset = progress.sent_offset == offset, offset
        damage = damage_in(region, offset) if suspicious else None
        if damage is None:
            return False
        self._broker.log.error("a batch on this disk is damaged", partition=str(partition.partition), offset=damage)
        return self._broker.replicas.damaged(partition, damage)

    def waits(self) -> None:
        """The follower's next request may overtake this one before it reads again, so the second
        read must not acknowledge.
        """
        self._acknowledges = False

    def sent(self, partition: Partition, size_bytes: int) -> None:
        self._broker.metrics.counter(REPLICATION_BYTES_OUT).value += size_bytes
        self._throttle.moved(partition.partition, size_bytes, self._broker.clock.monotonic_ms())


def _read_all(
    broker: Broker, fetch: FetchContext, request: FetchRequest, reader: _Consumer | _Follower, *, by_id: bool
) -> tuple[Reads, int, bool, list[int]]:
    """The reads, their size in bytes, whether to respond at once, and the positions of the reads
    that need remote storage.
    """
    remaining = min(request.max_bytes, broker.settings.integer("fetch.max.bytes"))
    replicas = broker.replicas
    checks_access = broker.access.enabled
    reads: Reads = []
    total = 0
    urgent = False
    remote: list[int] = []
    for each in fetch.partitions:
        topic = topic_name(broker, each.topic_id) if by_id else each.topic
        partition = replicas.get(topic, each.index) if topic is not None else None
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
                replicas.disk_failed(partition.directory, error)
                read = PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
        urgent = urgent or read.urgent
        size = read.size_bytes
        if read.remote_bytes_max:
            # The size of a remote read is not known yet; reserve its maximum, so that the response
            # does not exceed ``max_bytes``.
            remote.append(len(reads))
            size = read.remote_bytes_max
        total += size
        remaining -= size
        reads.append((each, read))
    return reads, total, urgent, remote


def _read_remotely(
    broker: Broker,
    caller: Caller,
    fetch: FetchContext,
    reads: Reads,
    remote: list[int],
    reader: _Consumer | _Follower,
    *,
    by_id: bool,
) -> Promise[FetchResponse]:
    """Local reads wait for the remote ones."""
    answer: Promise[FetchResponse] = Promise()
    asked: dict[int, Promise[PartitionRead]] = {}
    for slot in remote:
        each, read = reads[slot]
        topic = topic_name(broker, each.topic_id) if by_id else each.topic
        partition = broker.replicas.get(topic, each.index) if topic is not None else None
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
            committed=reader.committed_only,
        )

    def complete() -> None:
        if answer.done:
            return
        timer.cancel()
        for slot, promise in asked.items():
            if promise.done:
                reads[slot] = (reads[slot][0], promise.value)
        answer.resolve(_respond(broker, caller, fetch, reads, reader, by_id=by_id))

    def expire() -> None:
        broker.metrics.counter(REMOTE_FETCHES_EXPIRED).value += 1
        complete()
        for promise in asked.values():
            promise.abandon()

    def give_up() -> None:
        timer.cancel()
        for promise in asked.values():
            promise.abandon()
        for _, read in reads:
            if read.region is not None:
                read.region.release()

    wait_ms = broker.metadata.effective.broker["remote.fetch.max.wait.ms"]
    assert isinstance(wait_ms, int)
    timer = broker.loop.call_later(wait_ms / 1000, expire)
    answer.if_abandoned(give_up)
    all_of(list(asked.values())).then(lambda _: complete())
    return answer


def _wait(
    broker: Broker,
    caller: Caller,
    fetch: FetchContext,
    reads: Reads,
    size: int,
    request: FetchRequest,
    reader: _Consumer | _Follower,
    *,
    by_id: bool,
) -> Promise[FetchResponse]:
    answer: Promise[FetchResponse] = Promise()
    reader.waits()
    partitions = []
    missed = False
    for each, found in reads:
        if found.region is not None:
            found.region.release()
        topic = topic_name(broker, each.topic_id) if by_id else each.topic
        partition = broker.replicas.get(topic, each.index) if topic is not None else None
        assert partition is not None, "a fetch with an unknown partition is answered at once"
        partitions.append(partition)
        missed = missed or (not found.size_bytes and reader.missed(partition, each))

    def complete() -> None:
        read_again = _read_all(broker, fetch, request, reader, by_id=by_id)[0]
        answer.resolve(_respond(broker, caller, fetch, read_again, reader, by_id=by_id))

    waiting = WaitingFetch(
        partitions,
        missing_bytes=request.min_bytes - size,
        committed_only=reader.committed_only,
        follower=reader.follower,
        # Batches that other producers append in the same turn of the loop go to a follower in the
        # same response.
        complete=(lambda: broker.loop.call_soon(complete)) if reader.follower else complete,
    )
    answer.if_abandoned(waiting.cancel)
    waiting.timer = broker.loop.call_later(request.max_wait_ms / 1000, waiting.complete)
    if missed:
        waiting.complete()
    return answer


def _respond(
    broker: Broker, caller: Caller, fetch: FetchContext, reads: Reads, reader: _Consumer | _Follower, *, by_id: bool
) -> FetchResponse:
    if caller.meter is not None and not reader.follower and not caller.meter.fetched(_size(reads)):
        return _withheld(broker, fetch, reads)
    responses: list[FetchableTopicResponse] = []
    served = []
    hints: LeaderHints | None = None
    for each, read in reads:
        if fetch.session is not None and not each.news(read) and fetch.incremental:
            continue
        records = read.region if read.region is not None else read.records
        if records is not None:
            served.append(each)
            topic = topic_name(broker, each.topic_id) if by_id else each.topic
            partition = broker.replicas.get(topic, each.index) if topic is not None else None
            if partition is not None:
                reader.sent(partition, len(records))
        leader = _NO_LEADER
        if read.error in HINTED and caller.version >= _HINTS_VERSION_MIN:
            hints = hints or LeaderHints(broker, caller.listener)
            hint = hints.leader_of(topic_name(broker, each.topic_id) if by_id else each.topic, each.index)
            if hint is not None:
                leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
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
            current_leader=leader,
            snapshot_id=_NO_SNAPSHOT,
            aborted_transactions=(
                None
                if read.aborted is None
                else [AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset) for one in read.aborted]
            ),
            preferred_read_replica=read.preferred_replica,
            records=records if records is not None else b"",
        )
        if responses and responses[-1].topic == each.topic and responses[-1].topic_id == each.topic_id:
            responses[-1].partitions.append(data)
        else:
            responses.append(FetchableTopicResponse(topic=each.topic, topic_id=each.topic_id, partitions=[data]))
    if fetch.session is not None:
        fetch.session.serve_last(served)
    response = FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=fetch.session_id, responses=responses)
    # Followers learn addresses from the metadata, and Kafka does not send them any.
    if hints is not None and not reader.follower:
        response.node_endpoints = [
            NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack) for each in hints.addresses()
        ]
    return response


def _size(reads: Reads) -> int:
    """Of a response, for quotas."""
    return sum(_PARTITION_BYTES + read.size_bytes for _, read in reads if read.size_bytes or read.error)


def _withheld(broker: Broker, fetch: FetchContext, reads: Reads) -> FetchResponse:
    """The response to a consumer that is over its quota. The dispatcher adds the wait."""
    for _, read in reads:
        if read.region is not None:
            read.region.release()
    session_id = broker.fetch_sessions.withdraw(fetch)
    return FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=session_id, responses=[])
