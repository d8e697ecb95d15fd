"""A value that arrives later, on the same thread.

Cores and shells exchange promises where ``asyncio.Future`` would require an event loop. Callbacks
run immediately, inside :meth:`Promise.resolve`, in the order in which they were added. A waiter may
abandon a promise, and the code that works on it may register to learn that.
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
        assert self.done, "the promise has no value yet"
        return cast(T, self._value)

    def resolve(self, value: T) -> None:
        """Only once: a caller that may be late checks :attr:`done` first."""
        assert not self.done, "a promise resolves only once"
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

    def followed_by(self, following: Callable[[T], Promise[U]]) -> Promise[U]:
        """The value of the promise that ``following`` makes of this one's value. A waiter that
        abandons it stops nothing: the second deed may have begun.
        """
        last: Promise[U] = Promise()
        self.then(lambda value: following(value).then(last.resolve))
        return last

    def if_abandoned(self, stop: Callable[[], object]) -> None:
        """``stop`` is called when the waiter abandons the promise. The promise may then stay
        unresolved, or resolve anyway.
        """
        self._if_abandoned = stop

    def abandon(self) -> None:
        stop, self._if_abandoned = self._if_abandoned, None
        if stop is not None:
            stop()


def all_of(promises: Sequence[Promise[T]]) -> Promise[list[T]]:
    """The values of all promises, in order, once the last has resolved."""
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
