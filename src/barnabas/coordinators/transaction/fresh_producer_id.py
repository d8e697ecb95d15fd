"""Requests that may need a producer id that nobody has had: asked once without, and again with one if that is the answer."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import NEEDS_PRODUCER_ID, Granted
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise

# Machine, time, and the producer id that is offered.
Request = Callable[[TransactionMachine, int, int | None], Outcome[Granted]]


def run_with_producer_id(
    transactions: Coordinator[TransactionMachine],
    next_producer_id: Callable[[], Promise[int]],
    transactional_id: str,
    request: Request,
) -> Promise[ProducerIdentity | ErrorCode]:
    """Between the two the world may have moved on, so the request is decided anew; then an id may have been drawn for nothing."""
    answer: Promise[ProducerIdentity | ErrorCode] = Promise()

    def first(granted: Granted) -> None:
        if granted is NEEDS_PRODUCER_ID:
            next_producer_id().then(again)
        else:
            answer.resolve(granted)

    def again(producer_id: int) -> None:
        if producer_id < 0:
            answer.resolve(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return
        transactions.run(transactional_id, lambda machine, now_ms: request(machine, now_ms, producer_id)).then(second)

    def second(granted: Granted) -> None:
        assert granted is not NEEDS_PRODUCER_ID, "a producer id was offered"
        answer.resolve(granted)

    transactions.run(transactional_id, lambda machine, now_ms: request(machine, now_ms, None)).then(first)
    return answer
