"""A value that comes later, on the same thread.

Cores and shells hand these to each other where ``asyncio.Future`` would drag an event loop into code that needs none. Callbacks
run at once, inside :meth:`Promise.resolve`, in the order they were added. Who waits may lose interest, and who works may want to know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar, cast

T = TypeVar("T")
U = TypeVar("U")


class Promise(Generic[T]):
    __slots__ = ("_callbacks", "_if_abandoned", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._callbacks: list[Callable[[T], object]] = []
        self._if_abandoned: Callable[[], object] | None = None

    @classmethod
    def kept(cls, value: T) -> Promise[T]:
        promise: Promise[T] = cls()
        promise.resolve(value)
        return promise

    @property
    def value(self) -> T:
        assert self.done, "the value has not come yet"
        return cast(T, self._value)

    def resolve(self, value: T) -> None:
        """Once: who might be late asks :attr:`done` first."""
        assert not self.done, "a promise is kept once"
        self.done = True
        self._value = value
        callbacks, self._callbacks = self._callbacks, []
        self._if_abandoned = None
        for callback in callbacks:
            callback(value)

    def then(self, callback: Callable[[T], object]) -> None:
        if self.done:
            callback(cast(T, self._value))
        else:
            self._callbacks.append(callback)

    def map(self, change: Callable[[T], U]) -> Promise[U]:
        changed: Promise[U] = Promise()
        changed.if_abandoned(self.abandon)
        self.then(lambda value: changed.resolve(change(value)))
        return changed

    def if_abandoned(self, stop: Callable[[], object]) -> None:
        """``stop`` is called when nobody waits any more. The promise may then stay unkept, or be kept all the same."""
        self._if_abandoned = stop

    def abandon(self) -> None:
        stop, self._if_abandoned = self._if_abandoned, None
        if stop is not None:
            stop()


def all_of(promises: Sequence[Promise[T]]) -> Promise[list[T]]:
    """The values of all, in order, once the last has come."""
    everything: Promise[list[T]] = Promise()
    missing = [promise for promise in promises if not promise.done]
    if not missing:
        everything.resolve([promise.value for promise in promises])
        return everything
    left = len(missing)

    def one_came(_: T) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            everything.resolve([promise.value for promise in promises])

    for promise in missing:
        promise.then(one_came)

    def abandon_all() -> None:
        for promise in missing:
            promise.abandon()

    everything.if_abandoned(abandon_all)
    return everything


Answer: TypeAlias = T | Promise[T]
