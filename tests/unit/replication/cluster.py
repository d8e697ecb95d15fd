"""One partition on several nodes, each with its own disk: the real leaders, followers and handlers,
a controller of forty lines, and a network that delays and loses messages. One seed gives one
history.

These invariants are checked all the time: a high watermark never falls while its node runs,
replicas agree below it, every in-sync replica has all records below it, and every acknowledged
record is in the log of every later leader, at the acknowledged offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import fetch, list_offsets
from barnabas.metadata.cluster import BrokerImage, Endpoint
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition, Uuid
from barnabas.network.caller import Caller
from barnabas.records.validation import Refused
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.follower_fetch import FetchLimits, FollowerFetch, Request
from barnabas.replication.isr import IsrAnswer, IsrChange
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.topic_counters import TopicCounters
from barnabas.security.principal import ANONYMOUS
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.types import RecordsSource
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.storage.logs import NOW_MS, all_batches, all_records, data, sent

TOPIC = "t"
NAME = TopicPartition(TOPIC, 0)
TOPIC_ID = Uuid(b"t" * 16)
PATH = "/data"
LAG_MS_MAX = 1000
SETTINGS = LogSettings(segment_bytes=900, index_interval_bytes=200, min_insync_replicas=2)
FETCH_VERSION = 17


class SeededEntropy:
    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def below(self, limit: int) -> int:
        return self._chance.randrange(limit)


@dataclass
class Acked:
    """The outcome of a produce request; ``code`` is None while it waits."""

    value: bytes
    offset: int
    code: ErrorCode | None = None


@dataclass
class Node:
    node_id: int
    disk: SimulatedDisk
    epoch: int = -1
    partition: Partition | None = None
    core: FollowerFetch | None = None
    followed_leader: int = NO_NODE
    broker: Any = None
    known: PartitionImage | None = None  # The newest metadata that it has received.
    news: list[PartitionImage] = field(default_factory=list)
    highest: int = 0  # The highest high watermark since its start.

    @property
    def up(self) -> bool:
        return self.partition is not None


class Cluster:
    def __init__(self, seed: int, *, nodes: int = 3, settings: LogSettings = SETTINGS) -> None:
        self.chance = Random(seed)
        self.settings = settings
        self.now_ms = 0
        self.ids = tuple(range(1, nodes + 1))
        self.nodes = {each: Node(each, SimulatedDisk(Random(seed * 100 + each))) for each in self.ids}
        self.brokers: dict[int, BrokerImage] = {}
        self.image = PartitionImage(self.ids, self.ids, 1, leader_epoch=0, partition_epoch=0)
        self.next_epoch = 0
        self.flying: list[tuple[int, Callable[[], None]]] = []
        self.produced: list[Acked] = []
        self.values = 0
        for node in self.nodes.values():
            node.disk.make_directory(PATH)
            node.disk.sync_directory("/")
            self.start(node, clean=True)

    # -- nodes --------------------------------------------------------------------------------

    def start(self, node: Node, *, clean: bool = False) -> None:
        """Opens the logs on the disk, registers the broker and applies the partition's metadata."""
        directory = LogDirectory(node.disk, PATH, Uuid(str(node.node_id).encode().ljust(16, b".")))
        found = {each.log.partition: each for each in directory.open_logs(lambda _: self.settings, clean=clean, now_ms=NOW_MS)}
        if NAME in found:
            log, high_watermark = found[NAME].log, found[NAME].high_watermark
        else:
            log, high_watermark = directory.create(NAME, TOPIC_ID, self.settings, now_ms=NOW_MS), 0
            directory.add(log)
        self.next_epoch += 1
        node.epoch = self.next_epoch
        cluster_view = ClusterView(
            broker=lambda broker: self.brokers.get(broker),
            own_epoch=lambda: node.epoch,
            propose=lambda partition, change: self._propose(node, partition, change),
            lag_ms_max=LAG_MS_MAX,
        )
        replicas = LocalReplicas([directory], lambda *_: None)
        node.partition = Partition(
            NAME,
            TOPIC_ID,
            log,
            directory,
            node_id=node.node_id,
            high_watermark=high_watermark,
            counters=TopicCounters(Metrics(), TOPIC),
            cluster_view=cluster_view,
        )
        replicas.add(node.partition)
        node.broker = SimpleNamespace(
            replicas=replicas,
            fetch_sessions=FetchSessions(10, SeededEntropy(self.chance)),
            access=OPEN_ACCESS,
            clock=SimpleNamespace(monotonic_ms=lambda: self.now_ms, wall_ms=lambda: NOW_MS + self.now_ms),
            settings=SimpleNamespace(integer=lambda _: 1 << 20, text_or_none=lambda _: None),
            metadata=SimpleNamespace(
                image=SimpleNamespace(
                    topics=SimpleNamespace(partition=lambda _: node.known, by_id={TOPIC_ID: SimpleNamespace(name=TOPIC)}),
                    cluster=SimpleNamespace(brokers=self.brokers),
                )
            ),
            metrics=Metrics(),
            loop=None,
        )
        node.core, node.followed_leader, node.highest, node.news = None, NO_NODE, high_watermark, []
        self._register(node, lost_its_tail=not clean)
        self._tell(node, self.image)

    def stop(self, node: Node, *, power: bool) -> None:
        """A kill leaves all written data. A power cut leaves the synced data and a part of the
        rest."""
        node.disk = node.disk.crash() if power else node.disk.kill()
        node.partition, node.core = None, None

    def _tell(self, node: Node, image: PartitionImage) -> None:
        partition = node.partition
        assert partition is not None
        node.known = image
        led = partition.leads
        partition.follow_metadata(image, self.now_ms)
        if partition.leads and not led:
            self._check_leader(node)
        if partition.leads or partition.leader == NO_NODE:
            node.core, node.followed_leader = None, NO_NODE
            return
        if node.core is None or node.followed_leader != partition.leader:
            node.core, node.followed_leader = self._fetcher(node), partition.leader
        node.core.follow(partition)

    def _fetcher(self, node: Node) -> FollowerFetch:
        def on_disk_failure(_: Partition, error: OSError) -> None:
            raise error

        epoch = node.epoch
        return FollowerFetch(
            node.node_id,
            FetchLimits(wait_ms_max=0, partition_bytes_max=self.chance.choice((150, 1000, 10_000)), backoff_ms=100),
            replica_epoch=lambda: epoch,
            on_disk_failure=on_disk_failure,
            on_event=lambda *_: None,
        )

    # -- the controller -----------------------------------------------------------------------

    def _register(self, node: Node, *, lost_its_tail: bool) -> None:
        self.brokers[node.node_id] = BrokerImage(
            node.node_id, node.epoch, Uuid(bytes(16)), (Endpoint("X", f"host{node.node_id}", 9092, 0),), fenced=False
        )
        image = self.image
        if lost_its_tail and node.node_id in image.isr and len(image.isr) > 1:
            self._change(isr=tuple(each for each in image.isr if each != node.node_id), leader=image.leader)
        elif image.leader in (NO_NODE, node.node_id) and node.node_id in image.isr:
            # A leader that restarts before the controller notices gets a new epoch too, because it
            # has lost its state in memory.
            self._change(leader=node.node_id, elects=True)

    def fence(self, node_id: int) -> None:
        broker, image = self.brokers[node_id], self.image
        self.brokers[node_id] = replace(broker, fenced=True)
        isr = tuple(each for each in image.isr if each != node_id) or image.isr
        self._change(isr=isr, leader=image.leader)

    def unfence(self, node: Node) -> None:
        self.brokers[node.node_id] = replace(self.brokers[node.node_id], fenced=False)
        if self.image.leader == NO_NODE:
            self.elect(node.node_id)

    def elect(self, node_id: int) -> None:
        if node_id in self.image.isr and not self.brokers[node_id].fenced:
            self._change(leader=node_id, elects=True)

    def _change(self, *, leader: int, isr: tuple[int, ...] | None = None, elects: bool = False) -> None:
        image = self.image
        isr = image.isr if isr is None else isr
        if leader not in isr or self.brokers[leader].fenced:
            alive = [each for each in isr if not self.brokers[each].fenced]
            leader = alive[0] if alive else NO_NODE
        elects = elects or leader != image.leader or len(isr) < len(image.isr)
        self.image = replace(
            image, isr=isr, leader=leader, leader_epoch=image.leader_epoch + elects, partition_epoch=image.partition_epoch + 1
        )
        for node in self.nodes.values():
            node.news.append(self.image)

    def _propose(self, node: Node, partition: Partition, change: IsrChange) -> None:
        self._later(lambda: self._alter(node, partition, change))

    def _alter(self, node: Node, partition: Partition, change: IsrChange) -> None:
        image = self.image
        answer: IsrAnswer | ErrorCode
        if image.leader != node.node_id or change.leader_epoch < image.leader_epoch:
            answer = ErrorCode.FENCED_LEADER_EPOCH
        elif change.partition_epoch != image.partition_epoch:
            answer = ErrorCode.INVALID_UPDATE_VERSION
        elif any(
            self.brokers[each.broker_id].fenced or self.brokers[each.broker_id].epoch != each.broker_epoch != -1 for each in change.isr
        ):
            answer = ErrorCode.INELIGIBLE_REPLICA
        else:
            self.image = replace(image, isr=tuple(sorted(change.members)), partition_epoch=image.partition_epoch + 1)
            for each in self.nodes.values():
                each.news.append(self.image)
            answer = IsrAnswer(self.image.isr, self.image.leader_epoch, self.image.partition_epoch)

        def answered() -> None:
            if node.partition is not partition:
                return
            if isinstance(answer, IsrAnswer):
                partition.isr_agreed(change, answer)
            elif partition.isr_refused(change, answer):
                self._propose(node, partition, change)

        self._later(answered)

    # -- the network --------------------------------------------------------------------------

    def _later(self, deed: Callable[[], None]) -> None:
        self.flying.append((self.now_ms + self.chance.choice((0, 1, 5, 40)), deed))

    def _send(self, node: Node, core: FollowerFetch, request: Request) -> None:
        leader, started = self.nodes[node.followed_leader], node.partition

        def arrive() -> None:
            response: Any = self._serve(leader, request) if leader.up and self.chance.random() > 0.03 else ErrorCode.NETWORK_EXCEPTION
            self._later(lambda: come_back(response))

        def come_back(response: Any) -> None:
            # The node was not restarted meanwhile; it may follow another leader by now.
            if node.partition is started and node.core is core:
                lost = self.chance.random() < 0.03
                core.answered(ErrorCode.REQUEST_TIMED_OUT if lost else response, self.now_ms, wall_ms=NOW_MS + self.now_ms)

        self._later(arrive)

    def _serve(self, leader: Node, request: Request) -> Any:
        connection = SimpleNamespace(peer_address=("127.0.0.1", 1), principal=ANONYMOUS, listener=SimpleNamespace(name="X"))
        broker = cast(Broker, leader.broker)
        context = Caller(cast(Any, connection), FETCH_VERSION if isinstance(request, FetchRequest) else 9, 1, "follower")
        if not isinstance(request, FetchRequest):
            return list_offsets.handle(broker, context, request)
        response = fetch.handle(broker, context, request)
        assert isinstance(response, FetchResponse)
        for topic in response.responses:
            for each in topic.partitions:
                if isinstance(each.records, RecordsSource):
                    region, each.records = each.records, each.records.read()
                    region.release()
        return response

    # -- time ---------------------------------------------------------------------------------

    def run(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.step()

    def step(self) -> None:
        self.now_ms += self.chance.choice((0, 1, 1, 5))
        due = [each for each in self.flying if each[0] <= self.now_ms]
        self.flying = [each for each in self.flying if each[0] > self.now_ms]
        self.chance.shuffle(due)
        for _, deed in due:
            deed()
        for node in self.nodes.values():
            partition = node.partition
            if partition is None:
                continue
            if node.news and self.chance.random() < 0.2:
                self._tell(node, node.news.pop(0))
            if node.core is not None:
                request = node.core.next_request(self.now_ms)
                if request is not None:
                    self._send(node, node.core, request)
            if self.chance.random() < 0.02:
                partition.check_isr(self.now_ms)
            if self.chance.random() < 0.02:
                self._housekeep(partition)
        self.check()

    def _housekeep(self, partition: Partition) -> None:
        partition.log.flush()
        directory = partition.directory
        for take in (directory.recovery_point_checkpoint, directory.high_watermark_checkpoint, directory.start_offset_checkpoint):
            write = take()
            if write is not None:
                write()

    # -- clients ------------------------------------------------------------------------------

    def produce(self, *, producer: int | None = None, sequence: int = 0) -> Acked | None:
        """Produces through any node that believes that it leads."""
        leaders = [node for node in self.nodes.values() if node.partition is not None and node.partition.leads]
        if not leaders:
            return None
        partition = self.chance.choice(leaders).partition
        assert partition is not None
        self.values += 1
        value = b"%06d" % self.values
        batch = data(value=value) if producer is None else sent(producer, sequence, value=value)
        outcome = partition.append(memoryview(batch), -1, NOW_MS)
        if isinstance(outcome, Refused):
            return None
        acked = Acked(value, outcome.base_offset)
        self.produced.append(acked)
        partition.replicated(outcome.last_offset + 1).then(lambda code: setattr(acked, "code", code))
        return acked

    @property
    def acknowledged(self) -> list[Acked]:
        return [each for each in self.produced if each.code == ErrorCode.NONE]

    # -- invariants ---------------------------------------------------------------------------

    def _check_leader(self, node: Node) -> None:
        partition = node.partition
        assert partition is not None
        if partition.leader_epoch < self.image.leader_epoch:
            return
        held = {record.offset: record.value for record in all_records(partition.log)}
        for acked in self.acknowledged:
            assert held.get(acked.offset) == acked.value, f"node {node.node_id} leads without {acked} at {self.now_ms} ms"

    def check(self) -> None:
        up = [node for node in self.nodes.values() if node.partition is not None]
        for node in up:
            partition = node.partition
            assert partition is not None
            assert partition.high_watermark <= partition.log.log_end_offset
            assert partition.high_watermark >= node.highest, f"node {node.node_id} went back from {node.highest}"
            node.highest = partition.high_watermark
        if self.chance.random() < 0.05:
            self.check_agreement()

    def check_agreement(self) -> None:
        up = [node.partition for node in self.nodes.values() if node.partition is not None]
        logs = [(partition.high_watermark, all_batches(partition.log)) for partition in up]
        bound = min((high_watermark for high_watermark, _ in logs), default=0)
        below = [[batch for batch in batches if int.from_bytes(batch[:8], "big") < bound] for _, batches in logs]
        assert all(each == below[0] for each in below), "replicas differ below the high watermark"
        leader = self.nodes[self.image.leader].partition if self.image.leader != NO_NODE else None
        if leader is not None and leader.leads and leader.leader_epoch == self.image.leader_epoch:
            for member in self.image.isr:
                replica = self.nodes[member].partition
                assert replica is None or replica.log.log_end_offset >= leader.high_watermark, (
                    f"{member} is in sync without what is committed"
                )

    def heal(self) -> None:
        """All nodes are up and all messages arrive; after a while all replicas are in sync and
        equal."""
        for node in self.nodes.values():
            if not node.up:
                self.start(node)
            if self.brokers[node.node_id].fenced:
                self.unfence(node)
        self.run(4000)
        for _ in range(3):
            self.produce()
            self.run(500)
        assert set(self.image.isr) == set(self.ids), self.image
        logs = [all_batches(node.partition.log) for node in self.nodes.values() if node.partition is not None]
        assert all(each == logs[0] for each in logs)
        leader = self.nodes[self.image.leader]
        assert leader.partition is not None
        assert leader.partition.leads
        self._check_leader(leader)
