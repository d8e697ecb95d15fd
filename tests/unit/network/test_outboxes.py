"""A broker has one request in flight; items that come meanwhile go together in the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from barnabas.model.promise import Promise
from barnabas.network import outboxes as module
from barnabas.network.outboxes import Outboxes
from tests.unit import simulated


class Post:
    def __init__(self) -> None:
        self.sent: list[tuple[int, list[str]]] = []
        self.answers: list[Promise[None]] = []
        self.outboxes: Outboxes[str] = Outboxes(self._send, key=lambda item: item[0])

    def _send(self, broker_id: int, items: list[str]) -> Promise[None]:
        self.sent.append((broker_id, items))
        self.answers.append(Promise())
        return self.answers[-1]

    async def turn(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def run(scenario: Callable[[Post], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(Post())

    simulated.run(main())


def test_items_of_one_turn_go_in_one_request() -> None:
    async def scenario(post: Post) -> None:
        for item in ("a", "b"):
            post.outboxes.put(1, item)
        post.outboxes.put(2, "c")
        await post.turn()
        assert post.sent == [(1, ["a", "b"]), (2, ["c"])]

    run(scenario)


def test_items_that_come_while_a_request_is_in_flight_go_in_the_next() -> None:
    async def scenario(post: Post) -> None:
        post.outboxes.put(1, "a")
        await post.turn()
        for item in ("b", "c"):
            post.outboxes.put(1, item)
        post.outboxes.put(2, "other brokers do not wait")
        await post.turn()
        assert post.sent[1:] == [(2, ["other brokers do not wait"])]
        post.answers[0].resolve(None)
        await post.turn()
        assert post.sent[2:] == [(1, ["b", "c"])]

    run(scenario)


def test_items_with_the_same_key_go_in_separate_requests() -> None:
    async def scenario(post: Post) -> None:
        for item in ("a1", "b1", "a2", "a3"):
            post.outboxes.put(1, item)
        for answered in range(3):
            await post.turn()
            post.answers[answered].resolve(None)
        assert [items for _, items in post.sent] == [["a1", "b1"], ["a2"], ["a3"]]

    run(scenario)


def test_a_request_holds_a_limited_number_of_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ITEMS_PER_REQUEST_MAX", 2)

    async def scenario(post: Post) -> None:
        for item in ("a", "b", "c"):
            post.outboxes.put(1, item)
        await post.turn()
        post.answers[0].resolve(None)
        await post.turn()
        assert [items for _, items in post.sent] == [["a", "b"], ["c"]]

    run(scenario)
