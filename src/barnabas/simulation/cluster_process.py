"""A whole node on a simulated host: the real :class:`~barnabas.node.node.Node` with simulated
clock, disk, randomness and network.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

from barnabas.config.parse import parse_broker_config
from barnabas.config.settings import BrokerSettings
from barnabas.controller.absent_brokers import FENCED_GONE
from barnabas.controller.broker_lifecycle import UNKNOWN_EPOCH
from barnabas.devcluster.development import NodePorts, cluster_properties
from barnabas.model.ids import NodeId
from barnabas.node.format import format_directories
from barnabas.node.node import Node
from barnabas.quorum.driver import QuorumDriver
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.records.batches import check_crc
from barnabas.replication.partition import Partition
from barnabas.simulation.frames import FramePeers, SimulatedListener
from barnabas.simulation.history import Written
from barnabas.simulation.host import Host, HostCrashed
from barnabas.simulation.violations import Violation
from barnabas.telemetry.logs import EventLog

if TYPE_CHECKING:
    from barnabas.simulation.cluster_world import ClusterWorld

BROKER_PORT = 9092
CONTROLLER_PORT = 9093
DATA = "/data"
CLUSTER_ID = "simulated-cluster-0000"
# Shorter than the defaults, so that a run of seconds sees sessions end and replicas fall out of
# sync.
OVERRIDES = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "300",
    "request.timeout.ms": "5000",
    "controller.socket.timeout.ms": "5000",
    "replica.socket.timeout.ms": "2000",
    "min.insync.replicas": "2",
    "metadata.log.max.record.bytes.between.snapshots": "8000",
    "metadata.max.idle.interval.ms": "2000",
    "leader.imbalance.check.interval.seconds": "3",
    "num.partitions": "1",
}


@lru_cache(maxsize=64)
def settings_of(node_id: int, size: int, controllers: int, overrides: tuple[tuple[str, str], ...]) -> BrokerSettings:
    properties = cluster_properties(
        node_id,
        {number: NodePorts(BROKER_PORT, CONTROLLER_PORT) for number in range(1, size + 1)},
        controllers=range(1, controllers + 1),
        host=f"n{node_id}",
        data_dir=DATA,
        overrides={
            **dict(overrides),
            "controller.quorum.voters": ",".join(f"{each}@n{each}:{CONTROLLER_PORT}" for each in range(1, controllers + 1)),
        },
    )
    return parse_broker_config(properties)


class NodeLog(EventLog):
    """A node's events, passed to the checker. A handler that raises is a violation: it should have
    answered.
    """

    def __init__(self, process: ClusterProcess) -> None:
        super().__init__("INFO")
        self._process = process

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        if level == "DEBUG":
            return
        error = values.get("exc_info")
        shown = " ".join(f"{name}={value}" for name, value in values.items() if name != "exc_info")
        self._process.world.say(f"{self._process.host.name}: {event} {shown}".rstrip())
        if event == FENCED_GONE:
            self._process.world.fenced_gone(values["broker"], values["broker_epoch"])
        if isinstance(error, Exception) and not isinstance(error, OSError):
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise Violation(f"{self._process.host.name}: {event} {shown}: {error!r} at {where.filename}:{where.lineno}") from error


class ClusterProcess:
    def __init__(self, world: ClusterWorld, host: Host, node_id: NodeId) -> None:
        self.world = world
        self.host = host
        self.node_id = node_id
        self.ready = False
        self.listeners: list[SimulatedListener] = []
        self.settings = settings_of(node_id, len(world.hosts), world.controllers, tuple(world.overrides.items()))
        self.node = Node(
            self.settings,
            log=NodeLog(self),
            disk=host.disk,
            clock=host.clock,
            entropy=host.entropy,
            dial=cast(Any, partial(FramePeers, world.network, host)),
            listen=cast(Any, self._listen),
            on_fatal=self._fatal,
        )

    def _listen(self, *arguments: Any, **options: Any) -> SimulatedListener:
        listener = SimulatedListener(self.world.network, self.host, *arguments, **options)
        self.listeners.append(listener)
        return listener

    def start(self) -> None:
        format_directories(
            self.host.disk,
            [DATA],
            cluster_id=CLUSTER_ID,
            node_id=self.node_id,
            entropy=self.host.entropy,
            now_ms=self.host.clock.wall_ms(),
            ignore_formatted=True,
        )
        self.host.disk.sync_directory("/")
        starting = asyncio.get_running_loop().create_task(self.node.start())
        starting.add_done_callback(self._started)

    def _started(self, starting: asyncio.Task[Any]) -> None:
        if starting.cancelled():
            raise HostCrashed("its start was cancelled")
        error = starting.exception()
        if error is not None:
            raise HostCrashed(f"cannot start: {error}") from error
        self.ready = True
        self.world.say(f"{self.host.name} is ready")

    def _fatal(self, error: BaseException) -> None:
        self.world.say(f"{self.host.name} halts: {error}")
        assert self.host.loop is not None
        self.host.loop.call_soon(self._halt, error)

    def _halt(self, error: BaseException) -> None:
        raise HostCrashed(f"halts: {error}") from error

    # -- what the checker looks at

    @property
    def partitions(self) -> Iterable[Partition]:
        broker = getattr(self.node, "broker", None)
        return broker.replicas if broker is not None else ()

    @property
    def broker_epoch(self) -> int:
        role = self.node._role  # noqa: SLF001
        return UNKNOWN_EPOCH if role is None else role.lifecycle.epoch

    @property
    def quorum(self) -> QuorumDriver | None:
        return getattr(self.node, "_quorum", None)

    @property
    def metadata_log(self) -> MetadataLog:
        log = self.node._metadata_log  # noqa: SLF001 -- the checker sees everything
        assert log is not None
        return log

    @property
    def applied_offset(self) -> int:
        return self.node.broker.metadata.image.provenance.offset

    @property
    def topics(self) -> set[str]:
        return {topic.name for topic in self.node.broker.metadata.image.topics.by_id.values()}

    def written(self, start: int, end: int) -> Iterator[Written]:
        for header, _ in self.metadata_log._log.batches(start, end):  # noqa: SLF001
            yield Written(header.base_offset, header.last_offset + 1, header.leader_epoch, header.crc)


def written(partition: Partition, start: int, end: int) -> Iterator[Written]:
    """Raises ``CorruptBatch`` where the bytes in the log differ from those written, which must not
    count as a copy.
    """
    for header, batch in partition.log.batches(start, end):
        check_crc(batch, header)
        yield Written(header.base_offset, header.last_offset + 1, header.leader_epoch, header.crc)
