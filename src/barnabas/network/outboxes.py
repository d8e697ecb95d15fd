"""What is to be said to other brokers: one request to each at a time, and in the next one whatever came meanwhile.

So the busier the way to a broker is, the more goes in one request, and a broker that does not answer holds up nobody but itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from barnabas.model.promise import Promise

# Keeps a request far below what a broker takes: each is an id and a few partitions.
ITEMS_PER_REQUEST_MAX = 1000

T = TypeVar("T")


class Outboxes(Generic[T]):
    def __init__(self, send: Callable[[int, list[T]], Promise[Any]], key: Callable[[T], Hashable]) -> None:
        """``send(broker_id, items)`` is kept when the next request may go; no two items of one request have the same ``key``, because
        the answer would not tell them apart."""
        self._send = send
        self._key = key
        self._waiting: dict[int, deque[T]] = {}
        self._busy: set[int] = set()

    def put(self, broker_id: int, item: T) -> None:
        self._waiting.setdefault(broker_id, deque()).append(item)
        if broker_id not in self._busy:
            self._busy.add(broker_id)
            # All that one turn of the loop has to say goes together.
            asyncio.get_running_loop().call_soon(self._flush, broker_id)

    def _flush(self, broker_id: int) -> None:
        items = self._take(broker_id)
        if items:
            self._send(broker_id, items).then(lambda _: self._flush_later(broker_id))
        else:
            self._busy.discard(broker_id)
            self._waiting.pop(broker_id, None)

    def _flush_later(self, broker_id: int) -> None:
        """Not from inside the answer: a broker that fails at once would be asked again from ever deeper inside."""
        asyncio.get_running_loop().call_soon(self._flush, broker_id)

    def _take(self, broker_id: int) -> list[T]:
        waiting = self._waiting.get(broker_id, deque())
        taken: dict[Hashable, T] = {}
        later: deque[T] = deque()
        while waiting and len(taken) < ITEMS_PER_REQUEST_MAX:
            item = waiting.popleft()
            if self._key(item) in taken:
                later.append(item)
            else:
                taken[self._key(item)] = item
        waiting.extendleft(reversed(later))
        return list(taken.values())
