from __future__ import annotations

import asyncio
import threading

from barnabas.env.awaiting import awaited
from barnabas.env.worker import Worker


def test_a_result_arrives_on_the_loops_thread() -> None:
    async def run() -> None:
        worker = Worker("test", 1)
        threads: list[int] = []
        promise = worker.run(threading.get_ident)
        promise.then(lambda _: threads.append(threading.get_ident()))
        assert await awaited(promise) != threading.get_ident()
        assert threads == [threading.get_ident()]
        worker.close()

    asyncio.run(run())


def test_a_result_that_comes_after_the_end_is_dropped() -> None:
    go_on = threading.Event()
    worker = Worker("test", 1)

    async def run() -> None:
        promise = worker.run(go_on.wait)
        worker.close()
        assert not promise.done
        assert not worker.run(threading.get_ident).done

    asyncio.run(run())
    go_on.set()
