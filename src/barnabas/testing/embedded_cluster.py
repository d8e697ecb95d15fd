"""Real brokers inside a test: in threads of this process, or in child processes that can be
killed."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from barnabas.devcluster.development import LOCALHOST, SECURE_LISTENER
from barnabas.devcluster.development_cluster import OF_ONE_NODE
from barnabas.model.cannot_start import CannotStart
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.supervisor.kept_ports import KeptPorts
from barnabas.testing.access_helpers import AccessHelpers
from barnabas.testing.client.helper_client import HelperClient
from barnabas.testing.faults.fault import Fault
from barnabas.testing.faults.fault_count import FaultCount
from barnabas.testing.faults.fault_rule import Effect, FaultRule
from barnabas.testing.faults.names import api_named, error_named
from barnabas.testing.node_child import NodeChild
from barnabas.testing.node_thread import NodeThread
from barnabas.testing.properties import (
    CONTROLLER_ID,
    PLAIN_LISTENER,
    ConfigValue,
    broker_properties,
    config_text,
    controller_properties,
    single_properties,
)
from barnabas.wire.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.testing.security import ClusterSecurity

# Node ids of brokers begin at 1, and the controller has an id of its own.
BROKERS_MAX = 32
Apis = str | Iterable[str] | None


class EmbeddedCluster(AccessHelpers):
    """Several brokers, three unless told otherwise.

    They run in threads of this process, which start in a fraction of a second. ``process=True``
    runs each as a child process: slower to start, but it can be killed, and started again on the
    same data.

    ``config`` takes Kafka's property names, and is the only source of settings: ``KAFKA_...``
    variables of the environment do not reach the brokers. A value may also be a number, or True or
    False. A given ``data_dir`` is kept; a temporary one is removed at the end. The first broker
    gets ``port``; 0 chooses a free one.

    With ``secure=True`` every connection uses SASL_SSL, and ACLs are on. Clients take
    :attr:`client_settings`, which are those of the user ``admin``; :meth:`add_user` and
    :meth:`allow` add users with fewer rights.

    Brokers have the ids 1, 2 and so on. A method with an argument ``broker`` concerns all brokers
    when it is left out.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        process: bool = False,
        data_dir: str | os.PathLike[str] | None = None,
        port: int = 0,
        config: Mapping[str, ConfigValue] | None = None,
        secure: bool = False,
    ) -> None:
        if not 1 <= brokers <= BROKERS_MAX:
            raise ValueError(f"A cluster has 1 to {BROKERS_MAX} brokers, not {brokers}.")
        self._config = config_text(config or {})
        for name in OF_ONE_NODE if brokers > 1 else ():
            if name in self._config:
                raise ValueError(f"{name} cannot be the same for {brokers} brokers.")
        self.brokers: tuple[int, ...] = tuple(range(1, brokers + 1))
        self._in_process = process
        self._own_directory = data_dir is None
        self.data_dir = os.fspath(data_dir) if data_dir is not None else tempfile.mkdtemp(prefix="barnabas-")
        self._first_port = port
        self._ports: dict[int, int] = {}
        self._kept_ports = KeptPorts(LOCALHOST)
        # Also for a cluster that is garbage collected after it was killed.
        weakref.finalize(self, self._kept_ports.close)
        self._nodes: dict[int, NodeThread | NodeChild] = {}
        self._addresses: dict[int, str] = {}
        self._complaints: dict[int, Callable[[], str]] = {}
        self._fault_ids = itertools.count()
        self._faults: dict[int, tuple[FaultRule, FaultCount, frozenset[int]]] = {}
        self._unreachable: dict[str, set[int]] = {"paused": set(), "cut": set()}
        security = self._make_security() if secure else None
        super().__init__(HelperClient(self._reachable_addresses, security.connect if security is not None else None), security)

    # -- as a context -------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- by hand ------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """For ``bootstrap.servers``; empty before the first start. Brokers keep their ports."""
        return ",".join(self._addresses[each] for each in self.brokers if each in self._addresses)

    def address(self, broker: int) -> str:
        """Of one broker, for a client that must begin with it."""
        return self._addresses[self._known(broker)]

    def start(self, broker: int | None = None) -> Self:
        """Start the brokers that do not run. Raises ``CannotStart`` with a sentence when one cannot
        start. Faults that are in force also hold for brokers that start."""
        wanted = [each for each in self._chosen(broker) if each not in self._nodes]
        if broker is not None or len(self.brokers) == 1:
            assert wanted, "the broker is running"
        self._choose_ports()
        nodes = [CONTROLLER_ID, *wanted] if len(self.brokers) > 1 else wanted
        properties = {each: self._properties(each) for each in nodes}
        cluster_id = None
        # The controller comes first, and a new broker joins its cluster.
        for each in nodes:
            users = [self._security.first_user] if self._security is not None and cluster_id is None else []
            cluster_id = ensure_formatted(parse_settings(properties[each]), cluster_id=cluster_id, users=users)
        self._start({each: values for each, values in properties.items() if each not in self._nodes})
        for each in wanted:
            self._apply_faults(each)
        return self

    def stop(self, broker: int | None = None) -> None:
        """A clean stop; the data stays. The other brokers lead its partitions before it ends."""
        if broker is None:
            # Before the brokers, because a connection with TLS ends when both sides have closed it.
            self.client.close()
        self._stop([each for each in self._chosen(broker) if each in self._nodes])
        if broker is None:
            self._stop([each for each in (CONTROLLER_ID,) if each in self._nodes])

    def restart(self, broker: int | None = None) -> None:
        """A clean stop, then a start."""
        self.stop(broker)
        self.start(broker)

    def kill(self, broker: int | None = None) -> None:
        """As ``kill -9`` does it. Only a child process can be killed: ``process=True``."""
        for each in self._chosen(broker):
            if each in self._nodes:
                self._nodes[each].kill()
                del self._nodes[each]
                self._reach_again(each)

    def close(self) -> None:
        """Stop, and remove the data if it was temporary."""
        try:
            self.stop()
        finally:
            self._faults.clear()
            self._kept_ports.close()
            self.client.close()
            if self._own_directory:
                shutil.rmtree(self.data_dir, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The process of the first broker that runs; this process if its brokers are threads."""
        return next((self._nodes[each].pid for each in self.brokers if each in self._nodes), os.getpid())

    @property
    def running(self) -> list[int]:
        return [each for each in self.brokers if each in self._nodes]

    @property
    def complaints(self) -> str:
        """The stderr of the child processes since their last start; brokers in threads write to
        this process's stderr."""
        return "".join(read() for read in self._complaints.values())

    # -- faults -------------------------------------------------------------------------------

    def fail(self, api: str | Iterable[str], error: str | int, *, times: int | None = 1, broker: int | None = None) -> Fault:
        """Refuse the next ``times`` requests of an API with an error code, without handling them:
        ``kafka.fail("Produce", "NOT_ENOUGH_REPLICAS", times=3)``. With ``times=None`` all requests
        are refused until the fault is undone.

        The names are Kafka's, in any case. The error is where that API carries it, in every
        partition, group or resource of the request.
        """
        apis, code = _apis(api), error_named(error)
        description = f"fail {' and '.join(key.api_name for key in apis)} with {code.name}"
        return self._set(FaultRule(next(self._fault_ids), Effect.REFUSE, apis, code=code, times=_checked(times)), description, broker)

    def disconnect(self, api: Apis = None, *, times: int | None = 1, handled: bool = False, broker: int | None = None) -> Fault:
        """Close the connection instead of answering the next ``times`` requests of an API, or of
        any API. With ``handled=True`` the broker handles them before: the request was a success,
        and the client cannot know."""
        effect = Effect.LOSE_ANSWER if handled else Effect.DISCONNECT
        rule = FaultRule(next(self._fault_ids), effect, _apis(api), times=_checked(times))
        return self._set(rule, f"disconnect at {_described(rule)}", broker)

    def slow(self, seconds: float, api: Apis = None, *, times: int | None = None, broker: int | None = None) -> Fault:
        """Answer that much later, until undone or ``times`` times. The broker handles the request
        at once, so a client that gives up waiting must expect that it was a success."""
        if seconds < 0:
            raise ValueError(f"A delay is not negative: {seconds!r}.")
        rule = FaultRule(next(self._fault_ids), Effect.DELAY, _apis(api), seconds=seconds, times=_checked(times))
        return self._set(rule, f"slow {_described(rule)} by {seconds:g} s", broker)

    def pause(self, broker: int | None = None) -> Fault:
        """Stop brokers in the middle of their work, as SIGSTOP does: connections stay open, and
        nothing is answered. :meth:`resume` or the end of the context lets them go on."""
        for each in self._running(broker):
            self._unreachable["paused"].add(each)
            self._nodes[each].pause()
        return Fault("pause", undo=partial(self.resume, broker), used=int)

    def resume(self, broker: int | None = None) -> None:
        for each in self._chosen(broker):
            self._unreachable["paused"].discard(each)
            if each in self._nodes:
                self._nodes[each].resume()

    def cut(self, broker: int | None = None) -> Fault:
        """Cut the network of brokers: connections are reset and new ones refused, those to other
        nodes included, so the cluster moves the leadership elsewhere after three seconds.
        :meth:`reconnect` or the end of the context connects them again."""
        for each in self._running(broker):
            self._unreachable["cut"].add(each)
            self._nodes[each].cut()
        self.client.close()
        return Fault("cut", undo=partial(self.reconnect, broker), used=int)

    def reconnect(self, broker: int | None = None) -> None:
        for each in self._chosen(broker):
            if each in self._unreachable["cut"]:
                self._unreachable["cut"].discard(each)
                if each in self._nodes:
                    self._nodes[each].reconnect()

    def heal(self) -> None:
        """Undo all faults that are in force. Brokers that were stopped or killed stay down."""
        self.resume()
        self.reconnect()
        for fault_id in list(self._faults):
            self._undo(fault_id)

    def _set(self, rule: FaultRule, description: str, broker: int | None) -> Fault:
        chosen = frozenset(self._chosen(broker))
        if self._in_process and rule.times is not None and len(chosen) > 1:
            raise ValueError("Brokers in processes count on their own: name one with broker=, or say times=None.")
        count = FaultCount(rule.times)
        self._faults[rule.fault_id] = rule, count, chosen
        for each in chosen:
            if each in self._nodes:
                self._nodes[each].set_fault(rule, count)
        return Fault(description, undo=partial(self._undo, rule.fault_id), used=partial(self._used, rule.fault_id, count, chosen))

    def _undo(self, fault_id: int) -> None:
        found = self._faults.pop(fault_id, None)
        for each in found[2] if found is not None else ():
            if each in self._nodes:
                self._nodes[each].undo_fault(fault_id)

    def _used(self, fault_id: int, count: FaultCount, brokers: frozenset[int]) -> int:
        return count.used + sum(self._nodes[each].used(fault_id) for each in brokers if each in self._nodes)

    def _apply_faults(self, broker: int) -> None:
        node = self._nodes[broker]
        for rule, count, brokers in list(self._faults.values()):
            if broker in brokers:
                node.set_fault(rule, count)

    # -- nodes --------------------------------------------------------------------------------

    def _start(self, properties: Mapping[int, dict[str, str]]) -> None:
        """All at once: a broker is ready when it has found the controller."""
        started: dict[int, NodeThread | NodeChild] = {}
        try:
            for each, values in properties.items():
                node = NodeChild(values) if self._in_process else NodeThread(values)
                self._complaints[each] = node.complaints
                node.start()
                started[each] = node
            for each, node in list(started.items()):
                bootstrap = node.await_ready()
                if each != CONTROLLER_ID:
                    self._addresses[each] = bootstrap
                    self._ports[each] = int(bootstrap.rpartition(":")[2])
                self._nodes[each] = started.pop(each)
        except BaseException:
            # Those that have not answered yet may wait for the one that failed.
            for node in started.values():
                with suppress(Exception):
                    node.ask_to_stop()
                    node.await_end()
            with suppress(Exception):
                self.stop()
            raise

    def _stop(self, nodes: list[int]) -> None:
        stopping = {each: self._nodes.pop(each) for each in nodes}
        for node in stopping.values():
            node.ask_to_stop()
        failure: BaseException | None = None
        for each, node in stopping.items():
            self._reach_again(each)
            try:
                node.await_end()
            except Exception as error:  # noqa: BLE001 - raised when all have ended
                failure = error
        if failure is not None:
            raise failure

    def _reach_again(self, broker: int) -> None:
        """A broker that ended is neither paused nor cut when it starts again."""
        for brokers in self._unreachable.values():
            brokers.discard(broker)

    def _properties(self, node: int) -> dict[str, str]:
        listener, config = PLAIN_LISTENER, self._config
        directory = os.path.join(os.path.abspath(self.data_dir), "controller" if node == CONTROLLER_ID else f"node-{node}")
        if self._security is not None:
            listener, config = SECURE_LISTENER, {**self._security.node_properties(node), **config}
        elif len(self.brokers) == 1:
            directory = self.data_dir
        if len(self.brokers) == 1:
            return single_properties(self._ports.get(1, self._first_port), directory, config, listener=listener)
        if node == CONTROLLER_ID:
            return controller_properties(self._ports[CONTROLLER_ID], directory, config, brokers=len(self.brokers))
        return broker_properties(
            node,
            self._ports[node],
            directory,
            config,
            brokers=len(self.brokers),
            controller_port=self._ports[CONTROLLER_ID],
            listener=listener,
        )

    def _make_security(self) -> ClusterSecurity:
        # Only a secured cluster needs the library for certificates, which takes long to load.
        from barnabas.testing.security import ClusterSecurity

        nodes = (*self.brokers, CONTROLLER_ID) if len(self.brokers) > 1 else self.brokers
        return ClusterSecurity(Path(self.data_dir), nodes=nodes)

    def _choose_ports(self) -> None:
        """Reserves the ports: the system gives them to no other process while a broker is down."""
        if self._ports or "listeners" in self._config:
            return
        chosen: dict[int, int] = {}
        try:
            for each in (*self.brokers, CONTROLLER_ID) if len(self.brokers) > 1 else self.brokers:
                chosen[each] = self._kept_ports.choose(self._first_port if each == 1 else 0)
        except OSError:
            if len(self.brokers) > 1:
                raise CannotStart(f"cannot listen on {LOCALHOST}:{self._first_port}: Address already in use.") from None
            # If another process listens there, the node itself reports it.
            return
        finally:
            self._kept_ports.all_are_chosen()
        self._ports = chosen

    def _chosen(self, broker: int | None) -> tuple[int, ...]:
        return self.brokers if broker is None else (self._known(broker),)

    def _known(self, broker: int) -> int:
        if broker not in self.brokers:
            raise ValueError(f"There is no broker {broker!r}: the ids are {', '.join(map(str, self.brokers))}.")
        return broker

    def _running(self, broker: int | None) -> list[int]:
        return [each for each in self._chosen(broker) if each in self._nodes]

    def _reachable_addresses(self) -> list[str]:
        away = set().union(*self._unreachable.values())
        return [self._addresses[each] for each in self.brokers if each in self._nodes and each not in away]


def _apis(api: Apis) -> tuple[ApiKey, ...]:
    if api is None:
        return ()
    return (api_named(api),) if isinstance(api, str | int) else tuple(map(api_named, api))


def _checked(times: int | None) -> int | None:
    if times is not None and times < 1:
        raise ValueError(f"A fault is used at least once: times={times!r}.")
    return times


def _described(rule: FaultRule) -> str:
    return " and ".join(key.api_name for key in rule.apis) or "every request"
