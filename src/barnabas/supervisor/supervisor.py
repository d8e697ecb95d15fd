"""The supervisor: it starts the processes of one machine, and performs what
:class:`~.supervision.Supervision` decides.

Its main thread waits for events; two threads for each process pass on what the process writes, and
the pages are served by a thread of their own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import assert_never

from barnabas.config.listeners import listeners
from barnabas.config.settings import BrokerSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.model.dataclass import dataclass
from barnabas.node.service_notification import READY, STOPPING, notify
from barnabas.supervisor.child_node import ChildNode
from barnabas.supervisor.kept_ports import KeptPorts
from barnabas.supervisor.log_stream import stream_line
from barnabas.supervisor.node_events import NodeEnded, NodeReady
from barnabas.supervisor.page_reader import LOOPBACK
from barnabas.supervisor.pages import ProcessPorts, SupervisorPages
from barnabas.supervisor.process_settings import HEALTH, PROMETHEUS
from barnabas.supervisor.supervision import (
    AllReady,
    BeginStop,
    Crashed,
    Effect,
    End,
    Event,
    Kill,
    Start,
    Stop,
    StopAsked,
    Supervision,
    TimePassed,
)
from barnabas.telemetry.logs import EventLog


@dataclass(frozen=True, slots=True)
class ServedProcess:
    """One process: its settings, and the arguments of ``barnabas server`` that lead to them."""

    settings: BrokerSettings
    arguments: tuple[str, ...]

    @property
    def node_id(self) -> int:
        return self.settings.integer("node.id")


@dataclass(frozen=True, slots=True)
class AllServe:
    """What a ready supervisor announces."""

    bootstrap: str
    cluster_id: str
    pids: Mapping[int, int]  # by node id
    prometheus_port: int | None
    health_port: int | None


class Supervisor:
    def __init__(
        self, processes: Sequence[ServedProcess], given: BrokerSettings, log: EventLog, on_ready: Callable[[AllServe], None]
    ) -> None:
        """``given`` are the settings of the file. Raises ``CannotStart`` when a port is taken."""
        self._processes = {each.node_id: each for each in processes}
        self._log = log
        self._on_ready = on_ready
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._children: dict[int, ChildNode] = {}
        self._ready: dict[int, NodeReady] = {}
        self._writing = threading.Lock()
        self._supervision = Supervision(list(self._processes), _now_ms())
        self._kept_ports: list[KeptPorts] = []
        self._pages: SupervisorPages | None = None
        try:
            self._keep_ports_for_clients()
            self._own_ports = self._choose_own_ports(given)
            self._pages = SupervisorPages(given, self._own_ports, self._supervision, log)
        except BaseException:
            self._close()
            raise
        for kept in self._kept_ports:
            kept.all_are_chosen()

    def run(self) -> int:
        """Returns the exit code. SIGTERM and SIGINT stop the processes cleanly, one after the
        other; a second signal kills them. Raises ``CannotStart`` when a process cannot start."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        try:
            while True:
                event = self._next_event()
                if isinstance(event, NodeReady):
                    self._ready[event.node_id] = event
                for effect in self._supervision.step(event, _now_ms()):
                    if isinstance(effect, End):
                        return self._ended(effect)
                    self._perform(effect)
        finally:
            self._close()

    # -- events ------------------------------------------------------------------------------------

    def _next_event(self) -> Event:
        wake_ms = self._supervision.wake_ms
        try:
            return self._events.get(timeout=None if wake_ms is None else max(0, wake_ms - _now_ms()) / 1000)
        except Empty:
            return TimePassed()

    def _signalled(self, *_: object) -> None:
        if self._supervision.is_ending:
            self._kill_all()
            os._exit(1)
        self._events.put(StopAsked())

    # -- effects -----------------------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Start():
                self._start(effect.node_id)
            case Crashed():
                seconds = effect.pause_ms / 1000
                ended = effect.ended
                self._log.error(
                    "process ended and will be restarted",
                    node_id=ended.node_id,
                    pid=self._pid(ended.node_id),
                    code=ended.code,
                    reason=ended.how,
                    crashes=effect.crashes,
                    pause_seconds=seconds,
                )
            case AllReady():
                self._announce()
            case BeginStop():
                self._log.info("supervisor stops the processes one after the other")
                notify(STOPPING)
            case Stop():
                child = self._children.get(effect.node_id)
                if child is None:
                    return  # It could not be started; the event of its end waits in the queue.
                with suppress(ProcessLookupError):
                    child.stop()
            case Kill():
                self._log.error("process did not stop in time and is killed", node_id=effect.node_id, pid=self._pid(effect.node_id))
                self._children[effect.node_id].kill()
            case End():
                raise AssertionError("the loop ends instead")
            case _:
                assert_never(effect)

    def _start(self, node_id: int) -> None:
        own = self._own_ports[node_id]
        pages = {PROMETHEUS: own.prometheus, HEALTH: own.health}
        # A page that was not wanted at the start is not wanted after an edit of the file either.
        overrides = [f"--override={name}={'' if port is None else f'{LOOPBACK}:{port}'}" for name, port in pages.items()]
        try:
            child = ChildNode(node_id, [*self._processes[node_id].arguments, *overrides], self._events, self._writer(node_id))
        except OSError as error:
            # The machine may be out of processes or memory for a moment.
            self._log.error("process could not be started", node_id=node_id, error=str(error))
            self._events.put(NodeEnded(node_id, 1, None))
            return
        self._children[node_id] = child
        self._log.info("process started", node_id=node_id, pid=child.pid)

    def _announce(self) -> None:
        assert self._pages is not None
        found = [self._ready[node_id] for node_id in self._processes]
        pids = {node_id: child.pid for node_id, child in self._children.items()}
        bootstrap = ",".join(each.bootstrap for each in found)
        self._log.info("all processes are ready", bootstrap=bootstrap, nodes=list(pids))
        self._on_ready(AllServe(bootstrap, found[0].cluster_id, pids, self._pages.prometheus_port, self._pages.health_port))
        notify(READY)

    def _ended(self, end: End) -> int:
        if end.error is not None:
            raise CannotStart(end.error)
        self._log.info("supervisor stopped")
        return end.code

    def _pid(self, node_id: int) -> int | None:
        child = self._children.get(node_id)
        return child.pid if child is not None else None

    # -- the log -----------------------------------------------------------------------------------

    def _writer(self, node_id: int) -> Callable[[str], None]:
        is_json = self._log.is_json

        def write(line: str) -> None:
            whole = stream_line(line, node_id, is_json=is_json, timestamp=datetime.now(UTC).isoformat().replace("+00:00", "Z"))
            # Lines of two processes must not mix. A full disk or a closed pipe behind stderr must
            # not stop a process that serves its clients.
            with self._writing, suppress(OSError, ValueError):
                sys.stderr.write(whole)
                sys.stderr.flush()

        return write

    # -- ports -------------------------------------------------------------------------------------

    def _keep_ports_for_clients(self) -> None:
        for process in self._processes.values():
            for listener in listeners(process.settings):
                if not listener.port:
                    continue
                try:
                    self._keep(listener.host, listener.port)
                except OSError as error:
                    raise CannotStart(
                        f"Node {process.node_id} cannot listen on {listener}: {error.strerror}."
                        f" The ports of all {len(self._processes)} processes must be free."
                    ) from error

    def _choose_own_ports(self, given: BrokerSettings) -> dict[int, ProcessPorts]:
        wanted = [bool(given.text(setting)) for setting in (PROMETHEUS, HEALTH)]
        try:
            return {node_id: ProcessPorts(*(self._keep(LOOPBACK, 0) if wants else None for wants in wanted)) for node_id in self._processes}
        except OSError as error:
            raise CannotStart(f"No port is free at {LOOPBACK}: {error.strerror}.") from error

    def _keep(self, host: str, port: int) -> int:
        """A port stays reserved while its process is restarted. Raises ``OSError``."""
        kept = KeptPorts(host)
        self._kept_ports.append(kept)
        return kept.choose(port)

    # -- the end -----------------------------------------------------------------------------------

    def _kill_all(self) -> None:
        for child in self._children.values():
            if child.running:
                child.kill()

    def _close(self) -> None:
        self._kill_all()
        for child in self._children.values():
            child.reap()
        if self._pages is not None:
            self._pages.close()
        for kept in self._kept_ports:
            kept.close()


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
