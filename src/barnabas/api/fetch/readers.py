"""The two kinds of clients that fetch: consumers and followers."""

from __future__ import annotations

from typing import TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, READ_TOPIC
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.network.caller import Caller
from barnabas.replication.fetch_sessions import FetchedPartition
from barnabas.replication.partition import Partition
from barnabas.replication.read_replicas import RACK_AWARE_SELECTOR, preferred_replica
from barnabas.replication.reads import READ_COMMITTED, PartitionRead, damage_in, read_for_follower, read_partition
from barnabas.storage.regions import FileRegion
from barnabas.telemetry.catalogue import REPLICATION_BYTES_OUT
from barnabas.wire.messages.fetch import FetchRequest

_READ_FROM_FOLLOWERS_VERSION_MIN = 11
_REPLICA_STATE_VERSION_MIN = 15


def replica_id(request: FetchRequest, version: int) -> int:
    """The node id of a follower; negative for a consumer."""
    return request.replica_state.replica_id if version >= _REPLICA_STATE_VERSION_MIN else request.replica_id


class Consumer:
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


class Follower:
    """Reads to the log end. Its fetch offset acknowledges all below it, once for each request."""

    follower = True
    committed_only = False

    def __init__(self, broker: Broker, caller: Caller, request: FetchRequest) -> None:
        self._broker = broker
        self._replica = replica_id(request, caller.version)
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


Reader: TypeAlias = Consumer | Follower


def reader_for(broker: Broker, caller: Caller, request: FetchRequest) -> Reader:
    return Follower(broker, caller, request) if replica_id(request, caller.version) >= 0 else Consumer(broker, caller, request)
