"""Waiting for the in-sync replicas: the one way in which a Produce with acks=all is held back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.messages.produce import PartitionProduceResponse

R = TypeVar("R")

# A response entry, and the promise of its error code.
AwaitedEntry = tuple[PartitionProduceResponse, Promise[ErrorCode]]


def await_replicas(loop: asyncio.AbstractEventLoop, awaited: list[AwaitedEntry], timeout_ms: int, finish: Callable[[], R]) -> Promise[R]:
    """What ``finish`` returns, once every entry has its error code. When ``timeout_ms`` is over, the entries that are still missing get
    REQUEST_TIMED_OUT: their batches may reach the replicas or not."""
    settled: Promise[R] = Promise()
    missing = dict(enumerate(awaited))

    def settle() -> None:
        for entry, _ in missing.values():
            entry.error_code = ErrorCode.REQUEST_TIMED_OUT
        missing.clear()
        settled.resolve(finish())

    def replicated(place: int, code: ErrorCode) -> None:
        if place not in missing:
            return
        missing.pop(place)[0].error_code = code
        if not missing and timer is not None:
            timer.cancel()
            settle()

    timer = None
    for place, (_, promise) in list(missing.items()):
        promise.then(lambda code, place=place: replicated(place, code))  # type: ignore[misc]
    if missing:
        timer = loop.call_later(max(0, timeout_ms) / 1000, settle)
    else:
        settle()
    return settled
