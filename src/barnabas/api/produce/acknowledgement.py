"""The wait for in-sync replicas: the one place that delays a response to Produce with acks=all."""

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
    """Resolves with the result of ``finish``, once every entry has its error code.

    After ``timeout_ms`` the entries without a code get REQUEST_TIMED_OUT: their batches may or may
    not reach the replicas.
    """
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
