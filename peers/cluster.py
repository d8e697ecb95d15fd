"""A cluster of real processes on this machine, of Kafka, of Barnabas or of both, with faults.

    with Cluster(BARNABAS, brokers=3) as cluster:
        cluster.node(2).kill()          # kill -9
        cluster.node(3).pause()         # SIGSTOP; resume() is SIGCONT
        cluster.cut_off(1)              # from the other nodes, not from clients; needs proxied=True
        cluster.heal()

Nodes are configured with properties, as any Kafka user would do it; :data:`QUICK` shortens timeouts
for tests. The output of a node goes to a file, and a wait that fails shows it.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from peers.apache_kafka import CLUSTER_ID, write_properties
from peers.links import CLIENTS, Links
from peers.ports import free_ports

START_SECONDS_MAX = 400.0
# A controlled shutdown takes a second or two; on an overloaded machine its requests time out and
# are sent again.
STOP_SECONDS_MAX = 120.0
LOG_TAIL_CHARACTERS = 4000

BROKER, CONTROLLER = "broker", "controller"
COMBINED = "broker,controller"

# Timeouts several times shorter than the defaults, and still long enough that a busy machine is not
# taken for a dead one.
QUICK = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "250",
    "controller.quorum.election.timeout.ms": "400",
    "controller.quorum.election.backoff.max.ms": "200",
    "controller.quorum.fetch.timeout.ms": "1000",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.backoff.ms": "100",
    "replica.socket.timeout.ms": "5000",
}


# Called with the id of a process that starts.
Announce = Callable[[int], None]


class Program(Protocol):
    """The program of a node."""

    name: str

    def format(self, nodes: Sequence[Node]) -> None:
        """Give the nodes' directories their identity; they have their properties files already."""

    def start(self, properties: Path, output: IO[bytes], announce: Announce) -> RunningProcess:
        """A process that ends with this one, where the system can see to that. It is announced
        before it connects to anything."""


class RunningProcess(Protocol):
    """The part of ``subprocess.Popen`` that a node needs."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Node:
    """One process, started again and again on the same directory and ports."""

    def __init__(self, program: Program, node_id: int, roles: str, directory: Path, ports: Iterable[int], *, proxied: bool) -> None:
        self.program = program
        self.id = node_id
        self.roles = roles
        self.directory = directory
        self.data = directory / "data"
        self.log_dirs = [self.data]  # The metadata log is in the first.
        self.log = directory / "node.log"
        self.properties: dict[str, str] = {}
        # The ports that it binds, and the ports that it advertises.
        free = iter(ports)
        self.port, self.controller_port = next(free), next(free)
        self.advertised_port, self.advertised_controller_port = (next(free), next(free)) if proxied else (self.port, self.controller_port)
        self.process: RunningProcess | None = None
        self.paused = False
        self.on_start: Callable[[Node, int], None] | None = None

    # -- its state ---------------------------------------------------------------------------------

    @property
    def is_broker(self) -> bool:
        return BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        return CONTROLLER in self.roles

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.advertised_port}"

    @property
    def controller(self) -> str:
        return f"127.0.0.1:{self.advertised_controller_port}"

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def responsive(self) -> bool:
        return self.running and not self.paused

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def properties_file(self) -> Path:
        return self.directory / "server.properties"

    # -- starting and ending -----------------------------------------------------------------------

    def start(self) -> None:
        """Starts the process, and does not wait for it."""
        assert not self.running, f"node {self.id} is running"
        write_properties(self.properties_file, self.properties)
        with self.log.open("ab") as output:
            self.process = self.program.start(self.properties_file, output, self._announce)
        self.paused = False

    def _announce(self, pid: int) -> None:
        if self.on_start is not None:
            self.on_start(self, pid)

    def await_listening(self) -> None:
        ports = [self.port] * self.is_broker + [self.controller_port] * self.is_controller
        deadline = time.monotonic() + START_SECONDS_MAX
        while ports:
            assert self.process is not None
            code = self.process.poll()
            assert code is None, f"node {self.id} ({self.program.name}) exited {code}:\n{self.log_text()[-LOG_TAIL_CHARACTERS:]}"
            assert time.monotonic() < deadline, f"node {self.id} does not listen:\n{self.log_text()[-LOG_TAIL_CHARACTERS:]}"
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", ports[0])) == 0:
                    ports.pop(0)
                    continue
            time.sleep(0.02)

    def kill(self) -> None:
        """``kill -9``."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def begin_to_stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)

    def stop(self, *, seconds_max: float = STOP_SECONDS_MAX) -> int:
        """A clean shutdown; returns the exit code."""
        self.begin_to_stop()
        return self.await_end(seconds_max=seconds_max)

    def await_end(self, *, seconds_max: float = STOP_SECONDS_MAX) -> int:
        assert self.process is not None
        try:
            return self.process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"node {self.id} did not stop:\n{self.log_text()[-LOG_TAIL_CHARACTERS:]}") from None

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        assert self.process is not None
        self.paused = False
        self.process.send_signal(signal.SIGCONT)

    def wipe(self) -> None:
        """A new machine takes over the id: empty disks, formatted again."""
        assert not self.running
        for each in self.log_dirs:
            shutil.rmtree(each)
        self.program.format([self])


class Cluster:
    """``brokers`` nodes that are controllers too; or brokers and ``controllers`` separate nodes,
    with ids from 101 on.

    ``programs`` overrides the program of single nodes, by id; ``per_node`` their properties. Voters
    are static, and ports are chosen beforehand. The nodes' directories are made in ``directory``,
    where they stay, or otherwise in a temporary one.
    """

    def __init__(
        self,
        program: Program,
        *,
        brokers: int = 3,
        controllers: int = 0,
        properties: Mapping[str, str] | None = None,
        per_node: Mapping[int, Mapping[str, str]] | None = None,
        programs: Mapping[int, Program] | None = None,
        proxied: bool = False,
        log_dirs: int = 1,
        directory: Path | None = None,
    ) -> None:
        self._log_dirs = log_dirs
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="cluster-")
            directory = Path(self._temporary.name)
        self._directory = directory
        self.links = Links() if proxied else None
        self._brokers = brokers
        self._properties = dict(properties or {})
        roles = dict.fromkeys(range(1, brokers + 1), BROKER if controllers else COMBINED)
        roles |= {100 + number: CONTROLLER for number in range(1, controllers + 1)}
        ports = iter(free_ports(4 * (len(roles) + 1)))
        self._spare_ports = ports
        self.nodes = {
            node_id: self._make(node_id, role, (programs or {}).get(node_id, program), ports) for node_id, role in sorted(roles.items())
        }
        for node_id, node in self.nodes.items():
            node.properties = {**self._properties_of(node), **self._properties, **(per_node or {}).get(node_id, {})}

    def _make(self, node_id: int, roles: str, program: Program, ports: Iterable[int]) -> Node:
        directory = self._directory / f"node-{node_id}"
        directory.mkdir()
        node = Node(program, node_id, roles, directory, ports, proxied=self.links is not None)
        node.on_start = self._started
        node.log_dirs += [directory / f"data-{number}" for number in range(2, self._log_dirs + 1)]
        if self.links is not None:
            self.links.lead_to(node_id, port=node.advertised_port, target_port=node.port)
            self.links.lead_to(node_id, port=node.advertised_controller_port, target_port=node.controller_port)
        return node

    def _started(self, node: Node, pid: int) -> None:
        if self.links is not None:
            self.links.knows(node.id, pid)

    @property
    def voters(self) -> str:
        return ",".join(f"{node.id}@{node.controller}" for node in self.controllers)

    def _properties_of(self, node: Node) -> dict[str, str]:
        replicas = str(min(3, self._brokers))
        listeners = [f"PLAINTEXT://127.0.0.1:{node.port}"] * node.is_broker
        listeners += [f"CONTROLLER://127.0.0.1:{node.controller_port}"] * node.is_controller
        advertised = [f"PLAINTEXT://{node.bootstrap}"] * node.is_broker + [f"CONTROLLER://{node.controller}"] * node.is_controller
        return {
            "process.roles": node.roles,
            "node.id": str(node.id),
            "controller.quorum.voters": self.voters,
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(advertised),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": ",".join(map(str, node.log_dirs)),
            "default.replication.factor": replicas,
            "min.insync.replicas": str(min(2, self._brokers)),
            "offsets.topic.replication.factor": replicas,
            # Enough that several nodes have coordinators; a JVM takes seconds to create Kafka's 50.
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": str(min(2, self._brokers)),
            "transaction.state.log.num.partitions": "5",
            "share.coordinator.state.topic.num.partitions": "5",
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": str(min(2, self._brokers)),
            "group.initial.rebalance.delay.ms": "0",
        }

    # -- starting and closing ----------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self.format()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            error.add_note(self.story())
        self.close()

    def format(self) -> None:
        for node in self.nodes.values():
            write_properties(node.properties_file, node.properties)
        for program in {id(node.program): node.program for node in self.nodes.values()}.values():
            program.format([node for node in self.nodes.values() if node.program is program])

    def start(self) -> None:
        """Starts all nodes at the same time; each listens when this returns."""
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            node.await_listening()

    def close(self) -> None:
        """Kills the nodes; a test that needs a clean shutdown stops them itself."""
        for node in self.nodes.values():
            node.kill()
        if self.links is not None:
            self.links.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def add_broker(self, node_id: int, program: Program | None = None, properties: Mapping[str, str] | None = None) -> Node:
        """One more broker, formatted and started. There are ports for one."""
        node = self._make(node_id, BROKER, program or next(iter(self.nodes.values())).program, self._spare_ports)
        self.nodes[node_id] = node
        node.properties = {**self._properties_of(node), **self._properties, **(properties or {})}
        write_properties(node.properties_file, node.properties)
        node.program.format([node])
        node.start()
        node.await_listening()
        return node

    # -- its nodes ---------------------------------------------------------------------------------

    def node(self, node_id: int) -> Node:
        return self.nodes[node_id]

    @property
    def brokers(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_broker]

    @property
    def controllers(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_controller]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.brokers)

    @property
    def bootstrap_controllers(self) -> str:
        return ",".join(node.controller for node in self.controllers)

    # -- its network -------------------------------------------------------------------------------

    def cut_off(self, *nodes: int, from_clients: bool = False) -> None:
        """Cuts the nodes off from all others, in both directions; they still reach each other."""
        assert self.links is not None, "only a proxied cluster can be cut"
        others = [other for other in self.nodes if other not in nodes] + [CLIENTS] * from_clients
        self.links.cut(nodes, others)
        self.links.cut(others, nodes)

    def heal(self) -> None:
        assert self.links is not None
        self.links.heal()

    # -- for failed tests --------------------------------------------------------------------------

    def story(self) -> str:
        return "\n".join(
            f"-- node {node.id} ({node.program.name}, {'running' if node.running else 'not running'}), {node.log.name} ends:\n"
            f"{node.log_text()[-LOG_TAIL_CHARACTERS:]}"
            for node in self.nodes.values()
        )


def ends_with_us(command: list[str]) -> list[str]:
    """The command, made to end with this process, where util-linux is installed.

    A test that is killed cannot end its children, but the kernel can.
    """
    return ["setpriv", "--pdeathsig", "KILL", *command] if shutil.which("setpriv") else command


def start_process(command: list[str], output: IO[bytes], announce: Announce) -> subprocess.Popen[bytes]:
    """Announces the process late, but an interpreter or a JVM takes longer to connect anywhere."""
    process = subprocess.Popen(ends_with_us(command), stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    announce(process.pid)
    return process


def meta_properties(cluster_id: str, node_id: int, directory_id: str) -> str:
    return f"cluster.id={cluster_id}\ndirectory.id={directory_id}\nnode.id={node_id}\nversion=1\n"


__all__ = [
    "BROKER",
    "CLUSTER_ID",
    "COMBINED",
    "CONTROLLER",
    "QUICK",
    "START_SECONDS_MAX",
    "Announce",
    "Cluster",
    "Node",
    "Program",
    "RunningProcess",
    "ends_with_us",
    "free_ports",
    "meta_properties",
    "start_process",
]
