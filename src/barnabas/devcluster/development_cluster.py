"""A cluster for development: one process per broker, on one machine.

Ports are chosen before the first node starts, since every node must know the ports of the
controllers. Each node keeps its data in ``DIR/node-1`` and so on, and its settings in
``DIR/node-1.properties``. The file also starts the node by hand: ``barnabas server --no-environment
--config``.

The set of controllers is decided when a cluster is created, and kept. With other voters, nodes with
an empty metadata log could outvote the nodes that hold the metadata.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from barnabas.config.addresses import voter
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.config.settings import BrokerSettings
from barnabas.devcluster.development import LOCALHOST, SECURE_LISTENER, NodePorts, cluster_properties, controllers_of
from barnabas.devcluster.private_files import replace as replace_private
from barnabas.env.disk import disk_sentence
from barnabas.env.real_disk import RealDisk
from barnabas.model.cannot_start import CannotStart
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties
from barnabas.supervisor.child_node import ChildNode
from barnabas.supervisor.kept_ports import KeptPorts
from barnabas.supervisor.node_events import NodeEnded, NodeReady

if TYPE_CHECKING:
    from barnabas.devcluster.secure import SecureFiles

# A new cluster elects a controller within seconds on a machine with a core for each node; the rest
# is room for slower machines.
START_SECONDS_MAX = 120.0
# Longer than the node's own limit for a clean stop.
STOP_SECONDS_MAX = 45.0
# How often :meth:`DevelopmentCluster.stop` looks whether the nodes have ended.
_POLL_SECONDS = 0.01
# The properties file is the child's only source of settings. A KAFKA_... variable of the parent's
# environment would override the file, and may be there for another program.
FROM_FILE_ALONE = ("--no-environment", "--log-level", "WARN", "--config")
# Settings of which each node must have its own value.
OF_ONE_NODE = (
    "node.id",
    "broker.id",
    "process.roles",
    "listeners",
    "advertised.listeners",
    "controller.quorum.voters",
    "log.dir",
    "log.dirs",
)


@dataclass(frozen=True, slots=True)
class StopAsked:
    """An event that makes :meth:`DevelopmentCluster.watch` return to a caller that wants to
    stop."""


class DevelopmentCluster:
    def __init__(
        self,
        brokers: int,
        *,
        data_dir: Path,
        host: str = LOCALHOST,
        port: int = 0,
        metrics_port: int = 0,
        overrides: Mapping[str, str] | None = None,
        secure: SecureFiles | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Raises ``CannotStart`` when the settings contradict each other. The first broker gets
        ``port``, the others get the next free ones.

        With ``secure`` all connections use SASL_SSL.

        ``on_line`` receives each line that a node logs; the default writes it to stderr of this
        process.
        """
        for name in OF_ONE_NODE:
            if name in (overrides or {}):
                nodes = f"; they are the nodes 1 to {brokers}" if name in ("node.id", "broker.id") else ""
                raise CannotStart(f"{name} cannot be the same for {brokers} brokers{nodes}.")
        self.events: SimpleQueue[NodeReady | NodeEnded | StopAsked] = SimpleQueue()
        self.cluster_id = ""
        self._data_dir = data_dir
        self._on_line = on_line or _to_stderr
        self._nodes: dict[int, ChildNode] = {}
        controllers = existing_controllers(data_dir) or list(controllers_of(brokers))
        if brokers < len(controllers):
            raise CannotStart(f"{data_dir} holds a cluster with {len(controllers)} controllers: use --brokers {len(controllers)} or more.")
        self._kept_ports = KeptPorts(host)
        ports = _choose_ports(self._kept_ports, host, port, range(1, brokers + 1), controllers)
        self.addresses = [f"{host}:{each.clients}" for each in ports.values()]
        self._properties = {
            node_id: cluster_properties(
                node_id,
                ports,
                controllers=controllers,
                host=host,
                data_dir=str((data_dir / f"node-{node_id}").absolute()),
                listener="PLAINTEXT" if secure is None else SECURE_LISTENER,
                overrides={
                    **({} if secure is None else secure.node_properties(node_id)),
                    **_metrics(host, metrics_port, node_id),
                    **(overrides or {}),
                },
            )
            for node_id in ports
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(self.addresses)

    @property
    def pids(self) -> list[int]:
        return [node.pid for node in self._nodes.values()]

    def properties_file(self, node_id: int) -> Path:
        return self._data_dir / f"node-{node_id}.properties"

    def settings(self, node_id: int) -> BrokerSettings:
        return parse_settings(self._properties[node_id])

    def start(self) -> None:
        """Start all nodes at once. Raises ``CannotStart`` with the reason of the first node that
        fails."""
        self._prepare()
        try:
            for node_id in self._properties:
                self.start_node(node_id)
            self._await_ready(set(self._properties))
        except BaseException:
            self.kill()
            raise

    def start_node(self, node_id: int) -> None:
        """Start a node, or restart it after it ended. The call does not wait: whether the node gets
        ready is an event."""
        self._nodes[node_id] = ChildNode(node_id, [*FROM_FILE_ALONE, str(self.properties_file(node_id))], self.events, self._on_line)

    def kill_node(self, node_id: int) -> None:
        """Kill a node as ``kill -9`` does."""
        self._nodes[node_id].kill()
        self._nodes[node_id].reap()

    def await_node(self, node_id: int) -> None:
        """Wait until a node that was started again is ready; events before that are dropped."""
        while not (isinstance(event := self.watch(), NodeReady) and event.node_id == node_id):
            pass

    def watch(self) -> NodeReady | NodeEnded | StopAsked:
        """Wait for the next event."""
        return self.events.get()

    def stop(self) -> None:
        """Stop all nodes cleanly and at once: the controllers among them serve until the brokers
        have left. A node that takes too long is killed."""
        running = [node for node in self._nodes.values() if node.running]
        for node in running:
            node.stop()
        deadline = time.monotonic() + STOP_SECONDS_MAX
        while time.monotonic() < deadline and any(node.running for node in running):
            time.sleep(_POLL_SECONDS)
        self.kill()

    def kill(self) -> None:
        for node in self._nodes.values():
            if node.running:
                node.kill()
            node.reap()
        self._kept_ports.close()

    def _prepare(self) -> None:
        """Format directories with the id of the existing cluster, or of a new one, and write each
        node's properties file with the ports of this start."""
        settings = {node_id: parse_settings(properties) for node_id, properties in self._properties.items()}
        cluster_id = None
        for each in settings.values():
            cluster_id = ensure_formatted(each, cluster_id=cluster_id)
        for node_id, properties in self._properties.items():
            text = "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())
            try:
                # The settings may have passwords.
                replace_private(self.properties_file(node_id), text.encode("latin-1", "backslashreplace"))
            except OSError as error:
                raise CannotStart(disk_sentence(f"cannot write {self.properties_file(node_id)}", error)) from error

    def _await_ready(self, missing: set[int]) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while missing:
            try:
                event = self.events.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                nodes = ", ".join(map(str, sorted(missing)))
                raise CannotStart(f"Node {nodes} did not get ready within {START_SECONDS_MAX:g} seconds.") from None
            match event:
                case NodeReady():
                    missing.discard(event.node_id)
                    self.cluster_id = event.cluster_id
                case NodeEnded():
                    raise CannotStart(f"Node {event.node_id} cannot start: {event.how}")
                case StopAsked():
                    raise CannotStart("The cluster was stopped before it was ready.")


def existing_controllers(data_dir: Path) -> list[int]:
    """The controllers of the cluster whose data is in ``data_dir``; an empty list when there is no
    data yet."""
    disk, first = RealDisk(), str(data_dir / "node-1")
    try:
        if not disk.exists(first) or read_meta_properties(disk, first) is None:
            return []
        properties = read_properties((data_dir / "node-1.properties").read_text("latin-1"))
        entries = properties["controller.quorum.voters"].split(",")
        return sorted(parsed[0] for parsed in map(voter, entries) if parsed is not None)
    except (FileNotFoundError, KeyError):
        return [1]  # created by `barnabas up` for one broker, which writes no properties file
    except (MetaPropertiesDamaged, ConfigError) as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        raise CannotStart(disk_sentence(f"cannot read the cluster in {data_dir}", error)) from error


def _choose_ports(kept: KeptPorts, host: str, first: int, nodes: range, controllers: list[int]) -> dict[int, NodePorts]:
    """The first port is taken as given: if another program listens there, the node reports it."""

    def take(port: int) -> int:
        try:
            return kept.choose(port)
        except OSError as error:
            if not port:
                raise CannotStart(f"No port is free at {host}: {error.strerror}.") from error
            return take(0)

    try:
        clients = {nodes[0]: first or take(0)}
        clients |= {each: take(clients[nodes[0]] + index if first else 0) for index, each in enumerate(nodes[1:], start=1)}
        chosen = {each: NodePorts(clients[each], take(0) if each in controllers else 0) for each in nodes}
    except BaseException:
        kept.close()
        raise
    kept.all_are_chosen()
    return chosen


def _metrics(host: str, first_port: int, node_id: int) -> dict[str, str]:
    return {"barnabas.prometheus.listener": f"{host}:{first_port + node_id - 1}"} if first_port else {}


def _to_stderr(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


def _escaped(value: str) -> str:
    """Escape a value as Java's properties require: two backslashes stand for one."""
    return value.replace("\\", "\\\\")
