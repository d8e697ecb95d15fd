"""The decisions of the supervisor, as a machine without processes, clock or signals.

:meth:`Supervision.step` takes an event and returns effects, in the order in which they must be
performed. The states of a process:

============  ====================  ==============================================================
state         event                 next
============  ====================  ==============================================================
``STARTING``  ready                 ``SERVING``
``STARTING``  ended, with an error  the whole ends, if no process of this node has ever been ready:
              sentence              a setting is wrong, and a restart does not help
``STARTING``  ended otherwise       ``WAITING``, or the end of the whole after
                                    :data:`STARTS_MAX` starts without one success
``SERVING``   ended                 ``WAITING``
``WAITING``   its time has come     ``STARTING``
any           a stop is asked for   ``STOPPING``, one process after the other; ``ENDED`` at once
                                    for a process that does not run
``STOPPING``  ended                 ``ENDED``, and the next one stops
============  ====================  ==============================================================

Processes stop in the reverse order of their numbers. The first one is the last to stop, because it
may be the controller, and each of the others asks the controller for a controlled shutdown. A
process that does not end within :data:`STOP_MS_MAX` is killed.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from enum import Enum
from typing import Final

from barnabas.model.dataclass import dataclass
from barnabas.supervisor.node_events import NodeEnded, NodeReady
from barnabas.supervisor.restarts import backoff_ms, crashes_in_a_row

# A process that never got ready may have been killed, perhaps for want of memory. More attempts
# than this would hide a mistake from the operator.
STARTS_MAX: Final = 5
# Longer than the limit that a node has for its own clean stop, 30 s.
STOP_MS_MAX: Final = 40_000


class State(Enum):
    STARTING = "starting"
    SERVING = "serving"
    WAITING = "waiting to be restarted"
    STOPPING = "stopping"
    ENDED = "ended"


RUNNING: Final = frozenset({State.STARTING, State.SERVING, State.STOPPING})


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A signal asked the supervisor to stop."""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The time of :attr:`Supervision.wake_ms` has come."""


Event = NodeReady | NodeEnded | StopAsked | TimePassed


@dataclass(frozen=True, slots=True)
class Start:
    node_id: int


@dataclass(frozen=True, slots=True)
class Crashed:
    """To be logged: the process ended unasked, and starts again after a pause."""

    ended: NodeEnded
    crashes: int
    pause_ms: int


@dataclass(frozen=True, slots=True)
class AllReady:
    """Every process serves for the first time."""


@dataclass(frozen=True, slots=True)
class BeginStop:
    """The supervisor begins to stop the processes."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask the process for a clean stop."""

    node_id: int


@dataclass(frozen=True, slots=True)
class Kill:
    """The process did not stop in time."""

    node_id: int


@dataclass(frozen=True, slots=True)
class End:
    """No process runs any more."""

    code: int
    error: str | None  # the sentence for the user


Effect = Start | Crashed | AllReady | BeginStop | Stop | Kill | End


@dataclass(slots=True)
class _Process:
    state: State = State.WAITING
    crashes: int = 0  # in a row
    starts: int = 0
    was_ready: bool = False
    ready_ms: int | None = None  # since when it serves
    due_ms: int = 0  # WAITING: when it starts; STOPPING: when it is killed


class Supervision:
    def __init__(self, nodes: Sequence[int], now_ms: int) -> None:
        """``nodes`` in the order of the processes: the first may be the controller."""
        self._nodes = {node_id: _Process(due_ms=now_ms) for node_id in nodes}
        self._announced = False
        self._ending: End | None = None

    def state(self, node_id: int) -> State:
        return self._nodes[node_id].state

    def serves(self, node_id: int) -> bool:
        return self.state(node_id) is State.SERVING

    @property
    def is_ending(self) -> bool:
        return self._ending is not None

    def restarts(self, node_id: int) -> int:
        return max(0, self._nodes[node_id].starts - 1)

    @property
    def wake_ms(self) -> int | None:
        """When :class:`TimePassed` is due; None if only an event can change anything."""
        return min((each.due_ms for each in self._nodes.values() if each.state in (State.WAITING, State.STOPPING)), default=None)

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        match event:
            case NodeReady():
                return self._ready(event, now_ms)
            case NodeEnded():
                return self._ended(event, now_ms)
            case StopAsked():
                return self._end(End(0, None), now_ms)
            case TimePassed():
                return self._time_passed(now_ms)

    def _ready(self, event: NodeReady, now_ms: int) -> list[Effect]:
        process = self._nodes[event.node_id]
        if process.state is not State.STARTING:
            return []  # it was asked to stop meanwhile
        process.state, process.ready_ms, process.was_ready = State.SERVING, now_ms, True
        if self._announced or any(each.state is not State.SERVING for each in self._nodes.values()):
            return []
        self._announced = True
        return [AllReady()]

    def _ended(self, event: NodeEnded, now_ms: int) -> list[Effect]:
        process = self._nodes[event.node_id]
        if self._ending is not None:
            # Also a process whose turn to stop had not come: a restart would only delay the end.
            process.state = State.ENDED
            # A process that still imports its modules has no handler of signals yet.
            killed_by_stop = process.ready_ms is None and event.code == -signal.SIGTERM
            if event.code != 0 and not killed_by_stop and self._ending.code == 0:
                self._ending = End(1, f"Node {event.node_id} did not stop cleanly: {event.how}")
            return self._stop_next(now_ms)
        if not process.was_ready and (event.error is not None or process.starts >= STARTS_MAX):
            process.state = State.ENDED
            return self._end(End(1, f"Node {event.node_id} cannot start: {event.how}"), now_ms)
        served_ms = now_ms - process.ready_ms if process.ready_ms is not None else None
        process.crashes = crashes_in_a_row(process.crashes, served_ms)
        pause_ms = backoff_ms(process.crashes)
        process.state, process.due_ms, process.ready_ms = State.WAITING, now_ms + pause_ms, None
        return [Crashed(event, process.crashes, pause_ms)]

    def _time_passed(self, now_ms: int) -> list[Effect]:
        effects: list[Effect] = []
        for node_id, process in self._nodes.items():
            if now_ms < process.due_ms:
                continue
            if process.state is State.WAITING:
                process.state = State.STARTING
                process.starts += 1
                effects.append(Start(node_id))
            elif process.state is State.STOPPING:
                # Its end arrives as an event.
                process.due_ms = now_ms + STOP_MS_MAX
                effects.append(Kill(node_id))
        return effects

    def _end(self, end: End, now_ms: int) -> list[Effect]:
        if self._ending is not None:
            return []
        self._ending = end
        for process in self._nodes.values():
            if process.state is State.WAITING:
                process.state = State.ENDED
        return [BeginStop(), *self._stop_next(now_ms)]

    def _stop_next(self, now_ms: int) -> list[Effect]:
        assert self._ending is not None
        if any(each.state is State.STOPPING for each in self._nodes.values()):
            return []
        for node_id, process in reversed(self._nodes.items()):
            if process.state in RUNNING:
                process.state, process.due_ms = State.STOPPING, now_ms + STOP_MS_MAX
                return [Stop(node_id)]
        return [self._ending]
