"""Threads for the remote store, as many as the setting names at the time."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from barnabas.tiered.workers import TooManyWaiting, Workers


def test_workers_run_a_limited_number_of_jobs_and_the_rest_follows() -> None:
    async def main() -> None:
        go = Event()
        workers = Workers("test", lambda: 2)
        outcomes = [workers.run(lambda number=number: (go.wait(), number)[1]) for number in range(5)]  # type: ignore[misc]
        assert (workers.busy, workers.waiting) == (2, 3)
        go.set()
        assert await asyncio.gather(*outcomes) == [0, 1, 2, 3, 4]
        assert (workers.busy, workers.waiting) == (0, 0)
        workers.stop()

    asyncio.run(main())


def test_a_full_queue_refuses() -> None:
    async def main() -> None:
        go = Event()
        workers = Workers("test", lambda: 1, waiting_max=lambda: 1)
        first, second = workers.run(go.wait), workers.run(go.wait)
        with pytest.raises(TooManyWaiting):
            await workers.run(go.wait)
        go.set()
        await asyncio.gather(first, second)
        workers.stop()

    asyncio.run(main())


def test_a_job_cancelled_before_its_turn_is_never_begun() -> None:
    async def main() -> None:
        go, begun = Event(), []
        workers = Workers("test", lambda: 1)
        first = workers.run(go.wait)
        second = workers.run(lambda: begun.append(1))
        second.cancel()
        go.set()
        await first
        assert await workers.run(lambda: "third") == "third"
        assert not begun
        workers.stop()

    asyncio.run(main())


def test_a_failure_reaches_the_caller() -> None:
    async def main() -> None:
        workers = Workers("test", lambda: 1)
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0)
        workers.stop()

    asyncio.run(main())
