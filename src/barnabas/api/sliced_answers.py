"""Answers that take long to make, in slices, so that the loop serves other requests in between.

A handler passes the *steps* of its answer: a generator that says with every ``yield`` what the work
since the last one cost, in microseconds of a common machine. An estimate is enough, and unlike a
clock it lets the simulation take the same turns on every machine.

The first slice runs at once, so a short answer is complete when its handler returns. Longer answers
take turns, one slice in each turn of the loop, so many of them occupy the loop no longer at a time
than one does. They need no limit of their own: a connection has a bounded number of requests in
flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from barnabas.model.dataclass import dataclass
from barnabas.model.promise import Answer, Promise

if TYPE_CHECKING:
    from barnabas.api.broker import Broker
    from barnabas.network.caller import Caller

T = TypeVar("T")
Steps: TypeAlias = Generator[int, None, T]

# Not noticed by a client, and long enough that the turn itself costs little.
SLICE_US = 2_000
# The first slice of an answer while others wait: enough for a short answer, and little enough when
# a hundred clients ask in the same turn.
SLICE_BESIDE_OTHERS_US = 200
# When the state changes again and again, the answer that was begun this often is completed in one
# turn.
BEGINNINGS_MAX = 3


@dataclass(slots=True)
class _Unfinished:
    broker: Broker
    caller: Caller
    steps: Steps[Any]
    answer: Promise[Any] = field(default_factory=Promise)
    abandoned: bool = False

    def abandon(self) -> None:
        self.abandoned = True


class SlicedAnswers:
    def __init__(self) -> None:
        self._unfinished: deque[_Unfinished] = deque()
        self._turn_comes = False

    def make(self, broker: Broker, caller: Caller, steps: Steps[T]) -> Answer[T]:
        room_us = SLICE_BESIDE_OTHERS_US if self._unfinished else SLICE_US
        try:
            while room_us > 0:
                room_us -= next(steps)
        except StopIteration as end:
            complete: T = end.value
            return complete
        unfinished = _Unfinished(broker, caller, steps)
        unfinished.answer.if_abandoned(unfinished.abandon)
        self._put(unfinished)
        return unfinished.answer

    def _put(self, unfinished: _Unfinished) -> None:
        self._unfinished.append(unfinished)
        self._await_turn()

    def _await_turn(self) -> None:
        if self._unfinished and not self._turn_comes:
            self._turn_comes = True
            self._unfinished[0].broker.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_comes = False
        unfinished = self._unfinished.popleft()
        # Before this slice, because a bug behind it must not stop the others.
        self._await_turn()
        if not unfinished.abandoned:
            self._continue(unfinished)

    def _continue(self, unfinished: _Unfinished) -> None:
        """This is a task's outermost frame."""
        meter, steps, room_us = unfinished.caller.meter, unfinished.steps, SLICE_US
        if meter is not None:
            meter.resume()
        try:
            while room_us > 0:
                room_us -= next(steps)
        except StopIteration as end:
            if meter is not None:
                meter.pause()
            unfinished.answer.resolve(end.value)
        except Exception as bug:
            caller = unfinished.caller
            unfinished.broker.log.error("request failed", api=caller.api, version=caller.version, client=caller.address, exc_info=bug)
            caller.connection.close()
        else:
            if meter is not None:
                meter.pause()
            self._put(unfinished)


def of_one_version(version: Callable[[], int], begin: Callable[[], Steps[T]]) -> Steps[T]:
    """The steps of an answer that must not mix two versions of a state: it begins again when the
    version changes between slices."""
    for _ in range(BEGINNINGS_MAX):
        before, steps = version(), begin()
        while version() == before:
            try:
                cost_us = next(steps)
            except StopIteration as end:
                complete: T = end.value
                return complete
            yield cost_us
    return completed(begin())


def completed(steps: Steps[T]) -> T:
    """The answer, made in one turn."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            complete: T = end.value
            return complete
