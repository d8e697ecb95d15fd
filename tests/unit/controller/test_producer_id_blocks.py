"""Producer ids for clients come from blocks of the controller: each id once, in the order of the
requests.
"""

from __future__ import annotations

from typing import Any

from barnabas.controller.producer_id_blocks import NO_PRODUCER_ID, ProducerIdBlocks
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


class SlowController:
    """Answers when the test says so."""

    def __init__(self, block: int = 3) -> None:
        self._block = block
        self._next = 0
        self.asked: list[tuple[AllocateProducerIdsRequest, Promise[Any]]] = []

    def submit(self, request: Any, context: Caller | None = None) -> Promise[Any]:
        promise: Promise[Any] = Promise()
        self.asked.append((request, promise))
        return promise

    def answer(self, error: ErrorCode = ErrorCode.NONE) -> None:
        _, promise = self.asked.pop(0)
        start = self._next
        if error is ErrorCode.NONE:
            self._next += self._block
        promise.resolve(
            AllocateProducerIdsResponse(throttle_time_ms=0, error_code=error, producer_id_start=start, producer_id_len=self._block)
        )


def test_one_request_serves_all_waiting_producers_and_none_is_sent_while_ids_are_left() -> None:
    controller = SlowController()
    blocks = ProducerIdBlocks(controller, 7, lambda: 42)
    first, second = blocks.next_producer_id(), blocks.next_producer_id()
    assert [(request.broker_id, request.broker_epoch) for request, _ in controller.asked] == [(7, 42)]
    controller.answer()
    assert (first.value, second.value, blocks.next_producer_id().value) == (0, 1, 2)
    assert controller.asked == []


def test_more_waiting_requests_than_a_block_holds_all_get_an_id() -> None:
    controller = SlowController(block=3)
    blocks = ProducerIdBlocks(controller, 1, lambda: 1)
    waiting = [blocks.next_producer_id() for _ in range(8)]
    while controller.asked:
        controller.answer()
    assert [promise.value for promise in waiting] == list(range(8))
    assert blocks.next_producer_id().value == 8


def test_a_refusal_reaches_all_waiting_requests_and_the_next_request_asks_again() -> None:
    controller = SlowController()
    blocks = ProducerIdBlocks(controller, 1, lambda: 1)
    refused = [blocks.next_producer_id() for _ in range(2)]
    controller.answer(ErrorCode.STALE_BROKER_EPOCH)
    assert [promise.value for promise in refused] == [NO_PRODUCER_ID] * 2
    later = blocks.next_producer_id()
    controller.answer()
    assert later.value == 0


def test_a_request_from_inside_an_answer_takes_no_id_of_another() -> None:
    controller = SlowController(block=2)
    blocks = ProducerIdBlocks(controller, 1, lambda: 1)
    order: list[tuple[str, int]] = []

    def ask(name: str, then: str | None = None) -> None:
        def granted(value: int) -> None:
            order.append((name, value))
            if then is not None:
                ask(then)

        blocks.next_producer_id().then(granted)

    ask("a", then="late")
    ask("b")
    ask("c")
    while controller.asked:
        controller.answer()
    assert sorted(name for name, _ in order) == ["a", "b", "c", "late"]
    assert sorted(value for _, value in order) == [0, 1, 2, 3]


def test_an_empty_block_is_no_block() -> None:
    controller = SlowController(block=0)
    blocks = ProducerIdBlocks(controller, 7, lambda: 42)
    waiting = blocks.next_producer_id()
    controller.answer()
    assert waiting.value == NO_PRODUCER_ID
    assert not controller.asked
