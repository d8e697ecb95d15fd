"""Waiting for a promise from a coroutine."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from barnabas.model.promise import Promise

T = TypeVar("T")


def awaited(promise: Promise[T]) -> asyncio.Future[T]:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    promise.then(lambda value: None if future.done() else future.set_result(value))
    return future
