"""A broker without sockets and without an event loop. The seed decides when its partitions are
replicated and when they move.

Handlers, coordinators, marker writer, partitions and logs are the real ones, on a simulated disk.
Simulated are the clock, the timers of the loop, and the followers: a partition's high watermark
rises by :meth:`SlowPartition.replicate`, and when another node takes over, the records above it may
or may not be lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count, islice
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.config.parse import parse_broker_config
from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.marker_writer import MarkerWriter
from barnabas.coordinators.markers import LocalMarkers
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.coordinators.settings import group_settings, share_settings, transaction_settings
from barnabas.coordinators.share.machine import ShareMachine
from barnabas.coordinators.share.persister import SharePersister
from barnabas.coordinators.share.record_types import SHARE_RECORD_TYPES
from barnabas.coordinators.share_group_states import ShareGroupStates
from barnabas.coordinators.share_pruning import SharePruning
from barnabas.coordinators.topic_log import CoordinatorTopicLog
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.record_types import TRANSACTION_RECORD_TYPES
from barnabas.devcluster.development import development_properties
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.model.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from barnabas.network.caller import Caller
from barnabas.network.peers import Peers
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.partition import Partition
from barnabas.replication.topic_counters import TopicCounters
from barnabas.security.principal import ANONYMOUS
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.produce import ProduceResponse
from barnabas.wire.metadata_records import FeatureLevelRecord, MetadataRecord, PartitionRecord, TopicRecord
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.controller.core.deciding import Dice
from tests.unit.metadata.made import after
from tests.unit.replication.made import ME, led_by

START_MS = 1_700_000_000_000
DATA = "data"
DATA_PARTITIONS = 3
GROUPS_SHARD = TopicPartition(CONSUMER_OFFSETS, 0)
TRANSACTIONS_SHARD = TopicPartition(TRANSACTION_STATE, 0)
SHARES_SHARD = TopicPartition(SHARE_GROUP_STATE, 0)
PARTITIONS = (GROUPS_SHARD, TRANSACTIONS_SHARD, SHARES_SHARD, *(TopicPartition(DATA, index) for index in range(DATA_PARTITIONS)))
TOPIC_IDS = {name: Uuid(name.encode().ljust(16, b"-")[:16]) for name in (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE, DATA)}
FEATURES = {"group.version": 1, "transaction.version": 2, "share.version": 1, "streams.version": 1}
# Time advances by seconds here, so sessions end often and transactions time out sometimes.
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.session.timeout.ms": "10000",
    "group.share.assignment.interval.ms": "0",
    "group.share.initialize.retry.interval.ms": "5000",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "10000",
    "group.streams.assignment.interval.ms": "0",
    "transaction.max.timeout.ms": "60000",
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
    "share.coordinator.cold.partition.snapshot.interval.ms": "2000",
    "share.coordinator.state.topic.prune.interval.ms": "3000",
}


class SlowPartition(Partition):
    """In sync with a follower that fetches nothing until :meth:`replicate`."""

    __slots__ = ()

    def _advance_high_watermark(self) -> None:
        """Not by itself. But a truncated log has read its transactions again, and does not know
        which of their markers are replicated.
        """
        self.log.producers.replicated_up_to(self.high_watermark)

    def replicate(self, end_offset: int) -> None:
        self.progress.high_watermark = end_offset
        self.log.producers.replicated_up_to(end_offset)
        while self.progress.replicating and self.progress.replicating[0][0] <= end_offset:
            self.progress.replicating.popleft()[1].resolve(ErrorCode.NONE)

    def batch_ends(self) -> list[int]:
        """The offsets to which the high watermark may rise, or a log may be truncated."""
        return [header.last_offset + 1 for header, _ in self.log.batches(self.high_watermark, self.log.log_end_offset)]


class Clock:
    def __init__(self) -> None:
        self.now_ms = START_MS

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


class Timers:
    """The part of an event loop that handlers use."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._serials = count()
        self._heap: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []

    def call_later(self, seconds: float, call: Callable[..., object], *arguments: Any) -> None:
        heapq.heappush(self._heap, (self._clock.now_ms + seconds * 1000, next(self._serials), call, arguments))

    def call_soon(self, call: Callable[..., object], *arguments: Any) -> None:
        self.call_later(0, call, *arguments)

    def ring(self) -> None:
        while self._heap and self._heap[0][0] <= self._clock.now_ms:
            _, _, call, arguments = heapq.heappop(self._heap)
            call(*arguments)


class Node:
    """The state that survives a crash: the disk with the partitions, the metadata, the time.
    :meth:`crash` makes the rest again.
    """

    def __init__(self, chance: Random, *, on_loaded: Callable[[TopicPartition], None], on_markers: Callable[[WriteMarkers], None]) -> None:
        """``on_markers`` gets the markers that the transaction coordinator is about to write."""
        self._chance = chance
        self._on_loaded = on_loaded
        self._on_markers = on_markers
        self.clock = Clock()
        self._dice = Dice(chance.randrange(1 << 30))
        self._settings = parse_broker_config(development_properties(data_dir="/d", overrides=SETTINGS))
        self._metrics, self._log = Metrics(), EventLog("ERROR")
        disk = SimulatedDisk(Random(0))
        disk.make_directory("/d")
        self._directory = LogDirectory(disk, "/d", Uuid(b"d" * 16))
        self.image = after(_metadata())
        self.partitions = {each: self._new_partition(each) for each in PARTITIONS}
        self._producer_ids = count(1000)
        self._share_coordinator: SharePersister | None = None
        # The progress of loading each shard.
        self._loaded_up_to: dict[TopicPartition, int] = {}
        self.incarnation = 0
        self._boot()
        for each in PARTITIONS:
            self.lead(each)

    def connect_share_coordinator(self, coordinator: SharePersister) -> None:
        """Before any client begins."""
        self._share_coordinator = coordinator
        self._share_group_states = ShareGroupStates(self.broker.groups, coordinator)
        self.broker.share_group_states = self._share_group_states

    def _new_partition(self, partition: TopicPartition) -> SlowPartition:
        topic_id = TOPIC_IDS[partition.topic]
        log = self._directory.create(partition, topic_id, LogSettings(), now_ms=START_MS)
        self._directory.add(log)
        counters = TopicCounters(self._metrics, partition.topic)
        return SlowPartition(partition, topic_id, log, self._directory, node_id=ME, high_watermark=0, counters=counters)

    def _boot(self) -> None:
        replicas = LocalReplicas([self._directory], lambda directory, error: None)
        for partition in self.partitions.values():
            replicas.add(partition)
        self.timers = Timers(self.clock)
        for_groups, for_transactions = group_settings(self._settings), transaction_settings(self._settings)
        self.groups: CoordinatorRuntime[GroupMachine] = CoordinatorRuntime(
            lambda index: GroupMachine(GroupShard(index, for_groups, self._dice, lambda: self.image, lambda _: {})),
            GROUP_RECORD_TYPES,
            CoordinatorTopicLog(CONSUMER_OFFSETS, replicas, self.clock),
            on_effect=lambda shard, effect: self._share_group_states.perform(shard, effect),
            on_deadline=lambda _: None,
        )
        self.transactions: CoordinatorRuntime[TransactionMachine] = CoordinatorRuntime(
            lambda index: TransactionMachine(index, for_transactions, lambda: self.transactions.epoch_of(index)),
            TRANSACTION_RECORD_TYPES,
            CoordinatorTopicLog(TRANSACTION_STATE, replicas, self.clock),
            on_effect=self._write_markers,
            on_deadline=lambda _: None,
        )
        self.share_states: CoordinatorRuntime[ShareMachine] = CoordinatorRuntime(
            self.make_share_machine,
            SHARE_RECORD_TYPES,
            CoordinatorTopicLog(SHARE_GROUP_STATE, replicas, self.clock),
            on_effect=SharePruning(replicas, self._log).perform,
            on_deadline=lambda _: None,
        )
        self._runtimes: dict[TopicPartition, CoordinatorRuntime[Any]] = {
            GROUPS_SHARD: self.groups,
            TRANSACTIONS_SHARD: self.transactions,
            SHARES_SHARD: self.share_states,
        }
        others = OtherBrokers(cast(Any, self), Peers("simulated"), self._settings)
        groups = Coordinator(CONSUMER_OFFSETS, self.groups, self.clock, lambda: 1)
        self._share_group_states = ShareGroupStates(groups, cast(Any, self._share_coordinator))
        transactions = Coordinator(TRANSACTION_STATE, self.transactions, self.clock, lambda: 1)
        markers = LocalMarkers(replicas, cast(Any, self), groups, self.clock)
        self._marker_writer = MarkerWriter(ME, transactions, markers, others, lambda: self.image, cast(Any, self.timers))
        self.broker: Broker = Broker(
            node_id=NodeId(ME),
            cluster_id="simulated",
            settings=self._settings,
            clock=self.clock,
            loop=cast(Any, self.timers),
            metadata=cast(Any, self),
            replicas=replicas,
            controller=cast(Any, None),
            quorum=cast(Any, None),
            producer_ids=cast(Any, self),
            fetch_sessions=FetchSessions(10, self._dice),
            groups=groups,
            transactions=transactions,
            share_states=Coordinator(SHARE_GROUP_STATE, self.share_states, self.clock, lambda: 1),
            share_persister=cast(Any, None),
            share_group_states=self._share_group_states,
            markers=markers,
            metrics=self._metrics,
            log=self._log,
            access=OPEN_ACCESS,
            others=others,
            doubted_brokers=cast(Any, ()),
            internal_topics=cast(Any, None),
            streams_topics=cast(Any, None),
            directory_moves=cast(Any, None),
            client_metrics=cast(Any, None),
            shares=cast(Any, None),
        )

    def _write_markers(self, shard: int, effect: WriteMarkers) -> None:
        self._on_markers(effect)
        self._marker_writer.perform(shard, effect)

    def next_producer_id(self) -> Promise[int]:
        return Promise.kept(next(self._producer_ids))

    # -- requests

    def handle(self, request: bytes, api: ApiKey, version: int, client_id: str) -> Promise[Any]:
        """The decoded response; like the request it goes through its bytes."""
        request_class, response_class = messages(api)
        connection = SimpleNamespace(peer_address=("127.0.0.1", 1), principal=ANONYMOUS, listener=SimpleNamespace(name="PLAINTEXT"))
        context = Caller(cast(Any, connection), version, 0, client_id)
        # As from a socket: producers' batches are changed in place.
        received = memoryview(bytearray(request))
        answer = BROKER_HANDLERS[api](self.broker, context, decode(request_class, version, received, 0)[0])
        promise: Promise[Any] = answer if isinstance(answer, Promise) else Promise.kept(answer)
        answered: Promise[Any] = Promise()
        promise.then(lambda response: self._when_durable(response).then(answered.resolve))
        return answered.map(lambda response: decode(response_class, version, encode(response, version), 0)[0])

    def _when_durable(self, response: Any) -> Promise[Any]:
        """A broker with followers answers producers when those have the batch. This one has no
        followers yet, and answers at once.
        """
        if not isinstance(response, ProduceResponse):
            return Promise.kept(response)
        (answer,) = response.responses[0].partition_responses
        if answer.error_code:
            return Promise.kept(response)
        replica = self.partitions[TopicPartition(DATA, answer.index)]

        def replicated(code: ErrorCode) -> ProduceResponse:
            answer.error_code = code
            return response

        return replica.replicated(answer.base_offset + 1).map(replicated)

    # -- leadership

    def resign(self, partition: TopicPartition, *, graceful: bool = True) -> None:
        """Another node leads the partition from its high watermark on, or from some offset between
        there and the end.
        """
        replica = self.partitions[partition]
        if graceful and replica.leads:
            replica.resign()
            runtime = self._runtimes.get(partition)
            if runtime is not None:
                runtime.unload(partition.partition)
        replica.role.leads = False
        replica.progress.replicating.clear()
        self._loaded_up_to.pop(partition, None)
        replica.log.truncate_to(self._chance.choice([replica.high_watermark, *replica.batch_ends()]))

    def lead(self, partition: TopicPartition) -> None:
        replica = self.partitions[partition]
        epoch = replica.leader_epoch + 1
        replica.follow_metadata(led_by(ME, epoch=epoch, replicas=(ME, ME + 1)))
        runtime = self._runtimes.get(partition)
        if runtime is not None and runtime.begin_loading(partition.partition, epoch):
            self._loaded_up_to[partition] = replica.log.log_start_offset

    def load_on(self, partition: TopicPartition) -> None:
        """Load some batches more, or finish loading: see CoordinatorDriver._load."""
        replica, runtime = self.partitions[partition], self._runtimes[partition]
        offset = self._loaded_up_to[partition]
        if offset < replica.log.log_end_offset:
            for header, batch in islice(replica.log.batches(offset, replica.log.log_end_offset), self._chance.randrange(1, 100)):
                assert runtime.replay_batch(partition.partition, replica.leader_epoch, batch)
                self._loaded_up_to[partition] = header.last_offset + 1
            return
        del self._loaded_up_to[partition]
        runtime.finish_loading(partition.partition, replica.leader_epoch, offset, self.clock.now_ms)
        self._on_loaded(partition)

    @property
    def loading(self) -> list[TopicPartition]:
        return list(self._loaded_up_to)

    @property
    def not_led(self) -> list[TopicPartition]:
        return [name for name, replica in self.partitions.items() if not replica.leads]

    def crash(self) -> None:
        """Everything in memory is lost, and no waiting request gets a response."""
        self.incarnation += 1
        for each in PARTITIONS:
            self.resign(each, graceful=False)
        self._boot()

    # -- time

    def wait(self, milliseconds: int) -> None:
        self.clock.now_ms += milliseconds
        self.timers.ring()
        for runtime in (self.groups, self.transactions, self.share_states):
            runtime.tick(self.clock.now_ms)

    @property
    def group_machine(self) -> GroupMachine | None:
        return next(self.groups.machines(), None)

    def make_share_machine(self, partition: int) -> ShareMachine:
        return ShareMachine(partition, share_settings(self._settings), lambda: self.image)

    @property
    def share_machine(self) -> ShareMachine | None:
        return next(self.share_states.machines(), None)

    @property
    def transaction_machine(self) -> TransactionMachine | None:
        return next(self.transactions.machines(), None)


def _metadata() -> list[MetadataRecord]:
    records: list[MetadataRecord] = [FeatureLevelRecord(name=name, feature_level=level) for name, level in FEATURES.items()]
    records += [TopicRecord(name=name, topic_id=topic_id) for name, topic_id in TOPIC_IDS.items()]
    for each in PARTITIONS:
        records.append(
            PartitionRecord(
                partition_id=each.partition,
                topic_id=TOPIC_IDS[each.topic],
                replicas=[ME],
                isr=[ME],
                removing_replicas=[],
                adding_replicas=[],
                leader=ME,
                leader_epoch=0,
                partition_epoch=0,
                directories=[],
            )
        )
    return records


def api_of(request: Any) -> ApiKey:
    key = declaration_of(type(request)).key
    assert key is not None
    return ApiKey(key)
