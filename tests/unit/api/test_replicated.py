"""A broker of a cluster as clients see it: the wait for acks=all, leader hints, preferred replicas,
and offsets that are not known yet.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from barnabas.api.broker_apis import fetch, list_offsets
from barnabas.api.produce.handler import handle as handle_produce
from barnabas.metadata.cluster import BrokerImage, Endpoint
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.partition import Partition
from barnabas.replication.read_replicas import RACK_AWARE_SELECTOR
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.replication.made import ME, NOW_MS, TOPIC_ID, World, led_by
from tests.unit.storage.logs import data

ALL = (ME, 2, 3)
EPOCH = 9
TIMEOUT_MS = 1500


class Loop:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, callback: Callable[..., None], *given: Any) -> SimpleNamespace:
        timer = (seconds, lambda: callback(*given))
        self.timers.append(timer)
        return SimpleNamespace(cancel=lambda: self.timers.remove(timer) if timer in self.timers else None)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.call_later(0, callback)

    def time_is_up(self) -> float:
        seconds, callback = self.timers.pop(0)
        callback()
        return seconds


class Server:
    """Node 1, one partition, and a cluster of three nodes in two racks."""

    def __init__(self, image: PartitionImage | None = None, *, selector: str | None = None) -> None:
        self.world = World()
        self.loop = Loop()
        racks = {ME: "a", 2: "b", 3: "b"}
        self.brokers = {
            each: BrokerImage(each, EPOCH, Uuid(bytes(16)), (Endpoint("X", f"host{each}", 9000 + each, 0),), rack=rack, fenced=False)
            for each, rack in racks.items()
        }
        self.image = image or led_by(ME, replicas=ALL)
        self.partition: Partition = self.world.partition(image=self.image, cluster_view=ClusterView(broker=self.brokers.get))
        topics = SimpleNamespace(
            partition=lambda name: self.image if name.topic == "t" else None, by_id={TOPIC_ID: SimpleNamespace(name="t")}
        )
        self.broker: Any = SimpleNamespace(
            replicas=self.world.replicas,
            fetch_sessions=FetchSessions(0, SimpleNamespace()),
            clock=SimpleNamespace(monotonic_ms=lambda: 0, wall_ms=lambda: NOW_MS),
            settings=SimpleNamespace(integer=lambda _: 1 << 20, text_or_none=lambda _: selector),
            metadata=SimpleNamespace(image=SimpleNamespace(topics=topics, cluster=SimpleNamespace(brokers=self.brokers))),
            metrics=self.world.metrics,
            access=OPEN_ACCESS,
            log=SimpleNamespace(error=lambda *_, **__: None),
            loop=self.loop,
        )

    def context(self, version: int) -> Any:
        return SimpleNamespace(version=version, client_id="c", meter=None, listener="X", connection=SimpleNamespace(close=lambda: None))

    def produce(self, *, acks: int = -1, topic_id: Uuid = TOPIC_ID) -> Any:
        request = ProduceRequest(
            transactional_id=None,
            acks=acks,
            timeout_ms=TIMEOUT_MS,
            topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(index=0, records=memoryview(data()))])],
        )
        return handle_produce(self.broker, self.context(13), request)

    def fetch(self, *, rack: str = "", version: int = 17, offset: int = 0, epoch: int = -1) -> Any:
        asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=epoch)
        topic = FetchTopic(topic="t", topic_id=TOPIC_ID, partitions=[asked])
        request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic], rack_id=rack)
        answer = fetch.handle(self.broker, self.context(version), request)
        return answer.responses[0].partitions[0], answer.node_endpoints  # type: ignore[union-attr]

    def followers_have(self, offset: int, *followers: int) -> None:
        for replica in followers or (2, 3):
            self.partition.follower_fetched(replica, offset=offset, log_start_offset=0, replica_epoch=EPOCH, now_ms=0)

    def latest(self, *, version: int = 9, replica: int = -1) -> Any:
        asked = ListOffsetsPartition(partition_index=0, timestamp=-1)
        request = ListOffsetsRequest(replica_id=replica, isolation_level=0, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
        answer = list_offsets.handle(self.broker, self.context(version), request)
        return answer.topics[0].partitions[0]  # type: ignore[union-attr]


def outcome(answer: Any) -> Any:
    response = answer.value if isinstance(answer, Promise) else answer
    return response.responses[0].partition_responses[0]


# -- producing -------------------------------------------------------------------------------------


def test_acks_all_is_answered_when_all_in_sync_replicas_have_the_record() -> None:
    server = Server()
    answer = server.produce()
    assert not answer.done
    server.followers_have(1)
    assert (outcome(answer).error_code, outcome(answer).base_offset) == (0, 0)
    assert server.loop.timers == []


def test_acks_one_is_answered_at_once() -> None:
    assert outcome(Server().produce(acks=1)).error_code == 0


def test_acks_all_is_answered_request_timed_out_when_the_time_is_up() -> None:
    server = Server()
    answer = server.produce()
    server.followers_have(1, 2)
    assert server.loop.time_is_up() == TIMEOUT_MS / 1000
    assert (outcome(answer).error_code, outcome(answer).base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    server.followers_have(1)


def test_a_deposed_leader_names_the_new_leader_and_its_address() -> None:
    server = Server()
    answer = server.produce()
    server.image = led_by(2, replicas=ALL, epoch=4)
    server.partition.follow_metadata(server.image)
    for told in (answer, server.produce()):
        assert outcome(told).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (outcome(told).current_leader.leader_id, outcome(told).current_leader.leader_epoch) == (2, 4)
    response = answer.value
    assert [(each.node_id, each.host, each.port) for each in response.node_endpoints] == [(2, "host2", 9002)]


def test_a_broker_without_a_replica_names_the_leader_and_its_address() -> None:
    server = Server(led_by(2, replicas=ALL, epoch=4))
    server.world.replicas.remove(server.partition.partition)
    told = outcome(server.produce())
    assert (told.error_code, told.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2)


def test_an_unknown_topic_is_answered_unknown_topic_or_partition() -> None:
    assert outcome(Server().produce(topic_id=Uuid(b"?" * 16))).error_code == ErrorCode.UNKNOWN_TOPIC_ID


# -- reading ---------------------------------------------------------------------------------------


def test_consumers_see_committed_records_and_followers_serve_them_too() -> None:
    server = Server()
    server.produce(acks=1)
    assert len(server.fetch()[0].records) == 0
    server.followers_have(1)
    assert len(server.fetch()[0].records) > 0
    server.partition.follow_metadata(led_by(2, replicas=ALL, epoch=4))
    assert len(server.fetch()[0].records) > 0


def test_a_client_that_cannot_read_from_followers_is_sent_to_the_leader() -> None:
    server = Server(led_by(2, replicas=ALL, epoch=4))
    assert server.fetch(version=10)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_with_an_old_epoch_is_answered_with_the_leader() -> None:
    server = Server(led_by(2, replicas=ALL, epoch=4))
    told, endpoints = server.fetch(epoch=3)
    assert told.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (2, 4)
    assert [each.host for each in endpoints] == ["host2"]


def test_a_leader_sends_a_reader_to_its_own_rack() -> None:
    server = Server(selector=RACK_AWARE_SELECTOR)
    server.produce(acks=1)
    server.followers_have(1, 3)
    server.followers_have(0, 2)
    assert server.fetch(rack="b")[0].preferred_read_replica == 3
    assert server.fetch(rack="a")[0].preferred_read_replica == -1
    assert server.fetch(rack="c")[0].preferred_read_replica == -1


def test_a_reader_is_not_sent_to_its_rack_without_a_replica_selector() -> None:
    server = Server()
    server.followers_have(0)
    assert server.fetch(rack="b")[0].preferred_read_replica == -1


# -- offsets ---------------------------------------------------------------------------------------


def test_a_new_leader_reports_no_latest_offset_before_it_knows_the_high_watermark() -> None:
    server = Server()
    server.produce(acks=1)
    server.partition.follow_metadata(led_by(ME, replicas=ALL, epoch=1))
    assert server.latest().error_code == ErrorCode.OFFSET_NOT_AVAILABLE
    assert server.latest(version=4).error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert server.latest(replica=2).offset == 1
    server.followers_have(1)
    assert (server.latest().error_code, server.latest().offset) == (0, 1)


# -- damage ----------------------------------------------------------------------------------------


def follower_fetches(server: Server) -> int:
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20, current_leader_epoch=0, log_start_offset=0)
    topic = FetchTopic(topic="t", topic_id=TOPIC_ID, partitions=[asked])
    request = FetchRequest(
        replica_state=ReplicaState(replica_id=2, replica_epoch=EPOCH), max_wait_ms=0, min_bytes=1, topics=[topic], rack_id=""
    )
    answer = fetch.handle(server.broker, server.context(17), request)
    return answer.responses[0].partitions[0].error_code  # type: ignore[union-attr]


def test_a_batch_that_a_follower_fetches_again_is_checked_and_not_sent_when_damaged() -> None:
    server = Server()
    server.produce(acks=1)
    lost: list[Partition] = []
    server.world.replicas.on_damage = lost.append
    assert [follower_fetches(server) for _ in range(3)] == [0, 0, 0]
    server.world.disk.flip_bit(server.partition.log.segments.active.file.path, 80)
    assert follower_fetches(server) == ErrorCode.KAFKA_STORAGE_ERROR
    assert lost == [server.partition]
    assert server.fetch()[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_follower_gets_at_once_what_its_own_acknowledgement_made_another_partition_write() -> None:
    """As a transaction coordinator does, whose decision is committed by the fetch: it writes the
    markers into partitions that the same fetch has read already."""
    server = Server(led_by(ME, replicas=(ME, 2)))
    decision, marked = server.partition, server.world.partition(index=1, image=server.image, cluster_view=server.partition.cluster_view)
    decision.append(memoryview(data()), 1, NOW_MS)
    decision.replicated(1).then(lambda _: marked.append(memoryview(data()), 1, NOW_MS))
    asked = [FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20) for index, offset in ((1, 0), (0, 1))]
    request = FetchRequest(
        replica_state=ReplicaState(replica_id=2, replica_epoch=EPOCH),
        max_wait_ms=500,
        min_bytes=1,
        topics=[FetchTopic(topic="t", topic_id=TOPIC_ID, partitions=asked)],
        rack_id="",
    )
    answer = fetch.handle(server.broker, server.context(17), request)
    assert isinstance(answer, Promise)
    assert [server.loop.time_is_up(), server.loop.timers] == [0, []], "no wait for more"
    found = answer.value.responses[0].partitions
    assert [(each.partition_index, bool(each.records)) for each in found] == [(1, True), (0, False)]
