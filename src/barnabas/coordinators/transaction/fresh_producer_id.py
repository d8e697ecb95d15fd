"""Requests that may need an unused producer id: they run without one first, and again with one if
necessary.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import NEEDS_PRODUCER_ID, Granted
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise

# ``request(machine, now_ms, offered)``, where ``offered`` is an unused producer id or None.
Request = Callable[[TransactionMachine, int, int | None], Outcome[Granted]]


def run_with_producer_id(
    transactions: Coordinator[TransactionMachine],
    next_producer_id: Callable[[], Promise[int]],
    transactional_id: str,
    request: Request,
) -> Promise[ProducerIdentity | ErrorCode]:
    """The state may change between the two runs, so the second one decides again; then the new id
    may stay unused.
    """
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
