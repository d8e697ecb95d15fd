"""A broker that reports that it is ready serves the first client that asks, also where the
controller is another node.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from barnabas.devcluster.development import LOCALHOST, NodePorts, cluster_properties
from barnabas.metadata.applier import Publisher
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.network.refusals import refuses_connections
from barnabas.node.broker import BrokerRole
from barnabas.node.node import Node, Ready
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.supervisor.kept_ports import KeptPorts
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.scenarios.client import Client
from tests.waiting import PATIENCE_SECONDS

CONTROLLER, BROKER = 1, 2
# Far longer than the answer to a heartbeat takes.
PUBLISHING_SECONDS = 0.5


class SlowToUnfence:
    """A publisher that delays the image in which the broker is unfenced, as creating many files
    does."""

    def __init__(self, hold: Callable[[], Awaitable[None]]) -> None:
        self.reached = asyncio.Event()
        self._hold = hold

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if image.cluster.active(BROKER) and not self.reached.is_set():
            self.reached.set()
            await self._hold()


class TwoNodes:
    """Node 1 is the controller and a broker; node 2 is a broker that leads a topic, and is down at
    first. Both run on this loop."""

    def __init__(self, folder: Path, ports: dict[int, NodePorts]) -> None:
        self.broker_port = ports[BROKER].clients
        self._settings = {}
        cluster_id = None
        for node_id in (CONTROLLER, BROKER):
            properties = cluster_properties(
                node_id, ports, controllers=[CONTROLLER], host=LOCALHOST, data_dir=str(folder / str(node_id)), overrides={}
            )
            self._settings[node_id] = parse_settings(properties)
            cluster_id = ensure_formatted(self._settings[node_id], cluster_id=cluster_id)

    def node(self, node_id: int) -> Node:
        return Node(self._settings[node_id], log=EventLog("FATAL"))


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[TwoNodes]:
    kept = KeptPorts(LOCALHOST)
    ports = {CONTROLLER: NodePorts(kept.choose(), kept.choose()), BROKER: NodePorts(kept.choose(), 0)}
    kept.all_are_chosen()
    nodes = TwoNodes(folder, ports)
    controller = nodes.node(CONTROLLER)
    try:
        await controller.start()
        broker = nodes.node(BROKER)
        ready = await broker.start()
        await asyncio.to_thread(create_topic_on_the_broker, ready)
        await broker.stop()
        yield nodes
    finally:
        await controller.stop()
        kept.close()


def create_topic_on_the_broker(ready: Ready) -> None:
    here = [CreatableReplicaAssignment(partition_index=index, broker_ids=[BROKER]) for index in range(3)]
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=here, configs=[])
    with Client(ready.bootstrap) as client:
        assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000)).topics[0].error_code == 0


def describe(bootstrap: str) -> tuple[list[int], list[int]]:
    """The brokers, and the leaders of the topic, in the metadata of this node."""
    with Client(bootstrap) as client:
        answer = client.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    return sorted(each.node_id for each in answer.brokers), [each.leader_id for topic in answer.topics for each in topic.partitions]


def add_publisher(monkeypatch: pytest.MonkeyPatch, publisher: Publisher) -> None:
    """Adds a publisher to all nodes that start from now on."""
    usual = vars(BrokerRole)["publishers"].fget
    monkeypatch.setattr(BrokerRole, "publishers", property(lambda role: [*usual(role), publisher]))


def test_a_broker_that_is_ready_lists_itself_and_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with two_nodes(tmp_path) as nodes:
            add_publisher(monkeypatch, SlowToUnfence(lambda: asyncio.sleep(PUBLISHING_SECONDS)))
            broker = nodes.node(BROKER)
            ready = await broker.start()
            described = await asyncio.to_thread(describe, ready.bootstrap)
            await broker.stop()
            assert described == ([CONTROLLER, BROKER], [BROKER] * 3)

    asyncio.run(run())


def test_a_broker_that_a_controller_unfenced_refuses_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that dials it would take it for one whose process is gone."""

    async def run() -> None:
        async with two_nodes(tmp_path) as nodes:
            released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            publisher = SlowToUnfence(lambda: released)
            add_publisher(monkeypatch, publisher)
            broker = nodes.node(BROKER)
            starting = asyncio.ensure_future(broker.start())
            await asyncio.wait_for(publisher.reached.wait(), PATIENCE_SECONDS)
            assert not await refuses_connections(LOCALHOST, nodes.broker_port)
            assert not starting.done()
            waiting = asyncio.ensure_future(asyncio.to_thread(describe, f"{LOCALHOST}:{nodes.broker_port}"))
            released.set_result(None)
            await starting
            assert await waiting == ([CONTROLLER, BROKER], [BROKER] * 3)
            await broker.stop()

    asyncio.run(run())


def test_a_start_can_be_cancelled_before_the_broker_sees_itself_unfenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with two_nodes(tmp_path) as nodes:
            publisher = SlowToUnfence(lambda: asyncio.get_running_loop().create_future())
            add_publisher(monkeypatch, publisher)
            starting = asyncio.ensure_future(nodes.node(BROKER).start())
            await asyncio.wait_for(publisher.reached.wait(), PATIENCE_SECONDS)
            await asyncio.sleep(PUBLISHING_SECONDS)
            assert not starting.done()
            starting.cancel()
            await asyncio.wait([starting], timeout=PATIENCE_SECONDS)
            assert starting.cancelled()
            # The next process has the directories and the port, and does not wait for the session
            # of the previous process.
            again = nodes.node(BROKER)
            assert (await asyncio.to_thread(describe, (await again.start()).bootstrap))[1] == [BROKER] * 3
            await again.stop()

    asyncio.run(run())
