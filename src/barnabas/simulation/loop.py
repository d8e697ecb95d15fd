"""The part of an event loop that a node's shells use, on simulated time: timers, tasks, and work
for other threads, which runs on this one.

One loop is one process: when the process dies, none of its scheduled callbacks runs any more.
Callbacks run one at a time through :attr:`SimulatedLoop.run`, with which the host catches a fatal
error of the process and delays a paused one.
"""

from __future__ import annotations

import asyncio
from asyncio import events
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from barnabas.simulation.disk import PowerCut
from barnabas.simulation.scheduler import MICROSECONDS, START_US, Scheduler

# In the ``finally`` blocks of one task.
AWAITS_MAX = 20
TASKS_MIN = 64

T = TypeVar("T")
Surrounding = Callable[..., object]


class Planned:
    """A callback of a loop, which may be cancelled until it runs, even when its time has come and
    its host is paused.
    """

    __slots__ = ("_appointment", "_arguments", "_callback")

    def __init__(
        self, scheduler: Scheduler, delay_us: int, run: Surrounding, callback: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        self._callback: Callable[..., object] | None = callback
        self._arguments = arguments
        self._appointment = scheduler.after_us(delay_us, run, self._call)

    def _call(self) -> None:
        if self._callback is not None:
            self._callback(*self._arguments)

    def cancel(self) -> None:
        self._callback, self._arguments = None, ()
        self._appointment.cancel()

    def cancelled(self) -> bool:
        return self._callback is None

    def when(self) -> float:
        return self._appointment.due_us / MICROSECONDS


class SimulatedLoop:
    def __init__(
        self, scheduler: Scheduler, run: Surrounding, work_us: Callable[[], int], complain: Callable[[dict[str, Any]], None]
    ) -> None:
        """``run(action, *arguments)`` gets every callback when its time has come; ``work_us()`` is
        how long a worker thread takes.
        """
        self._scheduler = scheduler
        self._run = run
        self._work_us = work_us
        self._complain = complain
        # Tasks of a dead process are kept until its world ends: their ``finally`` blocks would run
        # when they are garbage-collected.
        self.tasks: list[asyncio.Task[Any]] = []
        self._sweep_at = TASKS_MIN

    @property
    def as_loop(self) -> asyncio.AbstractEventLoop:
        """It has only the methods that are used."""
        return cast(asyncio.AbstractEventLoop, self)

    # -- time

    def time(self) -> float:
        return (self._scheduler.now_us - START_US) / MICROSECONDS

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Planned:
        return Planned(self._scheduler, 0, self._run, callback, args)

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Planned:
        return self.call_soon(callback, *args)

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Planned:
        return Planned(self._scheduler, round(delay * MICROSECONDS), self._run, callback, args)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Planned:
        return self.call_later(when - self.time(), callback, *args)

    # -- tasks

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self.as_loop)

    def create_task(
        self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], *, name: Any = None, context: Any = None
    ) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self.as_loop, name=name or "simulated")
        self.tasks.append(task)
        if len(self.tasks) >= self._sweep_at:
            self.tasks = [each for each in self.tasks if not each.done()]
            self._sweep_at = 2 * len(self.tasks) + TASKS_MIN
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        """The work runs at some moment while the caller waits, and its result arrives later: a
        crash may come before the work, or between the two.
        """
        done: asyncio.Future[T] = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 -- the waiter gets it, as from an executor
                self._scheduler.after_us(self._work_us(), self._run, _fail, done, error)
            else:
                self._scheduler.after_us(self._work_us(), self._run, _finish, done, result)

        self._scheduler.after_us(self._work_us(), self._run, work)
        return done

    def abandon(self) -> None:
        """End the remaining tasks, one ``await`` after the other, without letting them have any
        effect.
        """
        for task in self.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
            coroutine = task.get_coro()
            for _ in range(AWAITS_MAX):
                try:
                    coroutine.close()
                    break
                except (RuntimeError, PowerCut):
                    continue
        self.tasks.clear()

    # -- what asyncio asks of a loop

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._complain(context)


def _finish(done: asyncio.Future[T], result: T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)


def within(loop: SimulatedLoop, action: Callable[..., object], *arguments: Any) -> None:
    """Run a function as a callback of ``loop``, so that :func:`asyncio.get_running_loop` finds
    it.
    """
    events._set_running_loop(loop.as_loop)  # noqa: SLF001 -- documented as for implementers of loops
    try:
        action(*arguments)
    finally:
        events._set_running_loop(None)  # noqa: SLF001
