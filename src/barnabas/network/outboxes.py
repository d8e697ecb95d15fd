"""Batches of items for other brokers: one request to each at a time; later items join the next one.

So a busier broker gets more items in one request, and a broker that does not answer delays only
the items for itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from barnabas.model.promise import Promise

# Keeps a request far below the size that a broker accepts: an item is an id and a few partitions.
ITEMS_PER_REQUEST_MAX = 1000

T = TypeVar("T")


class Outboxes(Generic[T]):
    def __init__(self, send: Callable[[int, list[T]], Promise[Any]], key: Callable[[T], Hashable]) -> None:
        """``send(broker_id, items)`` resolves when the next request may leave.

        No two items of one request have the same ``key``, because the response could not tell them
        apart.
        """
        self._send = send
        self._key = key
        self._waiting: dict[int, deque[T]] = {}
        self._busy: set[int] = set()

    def put(self, broker_id: int, item: T) -> None:
        self._waiting.setdefault(broker_id, deque()).append(item)
        if broker_id not in self._busy:
            self._busy.add(broker_id)
            # Items of one turn of the loop go together.
            asyncio.get_running_loop().call_soon(self._flush, broker_id)

    def _flush(self, broker_id: int) -> None:
        items = self._take(broker_id)
        if items:
            self._send(broker_id, items).then(lambda _: self._flush_later(broker_id))
        else:
            self._busy.discard(broker_id)
            self._waiting.pop(broker_id, None)

    def _flush_later(self, broker_id: int) -> None:
        """Use the loop, not this callback: a broker that fails at once would recurse deeper and
        deeper."""
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
