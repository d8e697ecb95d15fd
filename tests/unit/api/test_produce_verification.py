"""Whether a transaction may begin in a partition: the broker asks the coordinator, which is local
or another broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.api.produce.verification import Verdicts, verify
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.replication.verification import Verification
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import decode
from barnabas.wire.headers import read_request_prefix
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tests.unit import simulated
from tests.unit.api.neighbours import HERE, NOBODY, THERE, Neighbours
from tests.unit.network.hostile_peer import Visitor, answer, serving

STATE = "__transaction_state"
PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]
PRODUCER = ProducerIdentity(1000, 3)
Respond = Callable[[AddPartitionsToTxnRequest], AddPartitionsToTxnResponse]


def coordinating(respond: Respond) -> Callable[[Visitor], Awaitable[None]]:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet({ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5)})
        while True:
            frame = await visitor.frame()
            asked = read_request_prefix(frame)
            request, _ = decode(AddPartitionsToTxnRequest, asked.api_version, frame, asked.position + 1)
            visitor.writer.write(answer(asked.correlation_id, respond(request), asked.api_version))

    return visit


def saying(code: int) -> Respond:
    """The same code for every requested partition."""

    def respond(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            throttle_time_ms=0,
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id,
                    topic_results=[
                        AddPartitionsToTxnTopicResult(
                            name=topic.name,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                                for index in topic.partitions
                            ],
                        )
                        for topic in each.topics
                    ],
                )
                for each in request.transactions
            ],
        )

    return respond


def asking(respond: Respond, ask: Callable[[Neighbours], Promise[Verdicts]], *, led_by: int = THERE) -> Verdicts:
    async def main() -> Verdicts:
        async with serving(coordinating(respond)) as port:
            neighbours = Neighbours(port, led_by={STATE: led_by})
            try:
                verdicts: Verdicts = await awaited(ask(neighbours))
                return verdicts
            finally:
                neighbours.peers.close()

    return simulated.run(main())


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.NOT_COORDINATOR])
def test_the_verdict_of_a_coordinator_in_another_broker_counts(code: ErrorCode, *, implicit: bool) -> None:
    seen: list[Any] = []

    def respond(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        seen.extend(request.transactions)
        return saying(code)(request)

    verdicts = asking(respond, lambda there: verify(there.broker, "T", PRODUCER, PARTITIONS, implicit=implicit))
    assert verdicts == dict.fromkeys(PARTITIONS, code)
    (transaction,) = seen
    assert (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch) == ("T", *PRODUCER)
    assert transaction.verify_only is not implicit
    assert [(topic.name, topic.partitions) for topic in transaction.topics] == [("t", [0, 1]), ("u", [0])]


def test_this_broker_asks_itself_without_the_wire() -> None:
    def ask(there: Neighbours) -> Promise[Verdicts]:
        producer = there.desk.init("T")
        assert isinstance(producer, ProducerIdentity)
        there.desk.add("T", producer, PARTITIONS[:1])
        return verify(there.broker, "T", producer, PARTITIONS[:2], implicit=False)

    verdicts = asking(saying(ErrorCode.UNKNOWN_SERVER_ERROR), ask, led_by=HERE)
    assert list(verdicts.values()) == [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]


def test_the_question_is_repeated_while_the_last_transaction_is_ending() -> None:
    answers = [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE]
    verdicts = asking(
        lambda request: saying(answers.pop(0))(request), lambda there: verify(there.broker, "T", PRODUCER, PARTITIONS, implicit=True)
    )
    assert set(verdicts.values()) == {ErrorCode.NONE}


def test_the_question_is_repeated_when_the_last_transaction_ended_here_in_the_meantime() -> None:
    verification = Verification(*PRODUCER)
    asked = []

    def respond(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        asked.append(verification.void)
        verification.void = len(asked) == 1
        return saying(0)(request)

    verdicts = asking(respond, lambda there: verify(there.broker, "T", PRODUCER, PARTITIONS, implicit=True, verifications=[verification]))
    assert set(verdicts.values()) == {ErrorCode.NONE}
    assert asked == [False, False]
    assert not verification.void


def test_questions_of_a_producer_are_answered_in_order() -> None:
    """The first one is repeated after a pause, in which the second one must not be answered."""
    codes = [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS]
    answered: list[Verdicts] = []

    def respond(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        return saying(codes.pop() if codes else ErrorCode.NONE)(request)

    async def main() -> None:
        async with serving(coordinating(respond)) as port:
            neighbours = Neighbours(port, led_by={STATE: THERE})
            asked = [verify(neighbours.broker, "T", PRODUCER, [each], implicit=True) for each in PARTITIONS]
            for question in asked:
                question.then(answered.append)
            for question in asked:
                await awaited(question)
            neighbours.peers.close()

    simulated.run(main())
    assert answered == [{each: ErrorCode.NONE} for each in PARTITIONS]


def test_nothing_is_asked_about_a_transaction_that_an_earlier_question_has_begun() -> None:
    requests = []
    begun = False

    def respond(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        nonlocal begun
        requests.append(request)
        begun = True
        return saying(0)(request)

    async def main() -> list[Verdicts]:
        async with serving(coordinating(respond)) as port:
            neighbours = Neighbours(port, led_by={STATE: THERE})
            asked = [verify(neighbours.broker, "T", PRODUCER, PARTITIONS, implicit=True, is_open=lambda: begun) for _ in range(3)]
            verdicts = [await awaited(each) for each in asked]
            neighbours.peers.close()
            return verdicts

    assert simulated.run(main()) == [dict.fromkeys(PARTITIONS, ErrorCode.NONE)] * 3
    assert len(requests) == 1


@pytest.mark.parametrize(
    "respond",
    [
        lambda request: AddPartitionsToTxnResponse(throttle_time_ms=0, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        lambda request: AddPartitionsToTxnResponse(throttle_time_ms=0),
        lambda request: AddPartitionsToTxnResponse(
            throttle_time_ms=0, results_by_transaction=[AddPartitionsToTxnResult(transactional_id="somebody else's", topic_results=[])]
        ),
    ],
)
def test_an_incomplete_answer_is_no_permission(respond: Respond) -> None:
    verdicts = asking(respond, lambda there: verify(there.broker, "T", PRODUCER, PARTITIONS, implicit=True))
    assert verdicts == dict.fromkeys(PARTITIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_an_unknown_error_code_is_no_permission() -> None:
    verdicts = asking(saying(31_000), lambda there: verify(there.broker, "T", PRODUCER, PARTITIONS, implicit=True))
    assert verdicts == dict.fromkeys(PARTITIONS, ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_missing_coordinator_is_answered_at_once() -> None:
    verdicts = asking(saying(0), lambda there: verify(there.broker, "T", PRODUCER, PARTITIONS, implicit=True), led_by=NOBODY)
    assert verdicts == dict.fromkeys(PARTITIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_coordinator_that_is_gone_is_not_available() -> None:
    async def gone(visitor: Visitor) -> None:
        return

    async def main() -> Verdicts:
        async with serving(gone) as port:
            neighbours = Neighbours(port, led_by={STATE: THERE})
            verdicts = await awaited(verify(neighbours.broker, "T", PRODUCER, PARTITIONS, implicit=True))
            neighbours.peers.close()
            return verdicts

    assert simulated.run(main()) == dict.fromkeys(PARTITIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_many_transactions_are_asked_for_in_one_request() -> None:
    requests = []

    def respond(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        requests.append([each.transactional_id for each in request.transactions])
        return saying(0)(request)

    async def main() -> None:
        async with serving(coordinating(respond)) as port:
            neighbours = Neighbours(port, led_by={STATE: THERE})
            asked = [awaited(verify(neighbours.broker, identity, PRODUCER, PARTITIONS, implicit=True)) for identity in ("T", "U", "T", "V")]
            for verdicts in await asyncio.gather(*asked):
                assert set(verdicts.values()) == {ErrorCode.NONE}
            neighbours.peers.close()

    simulated.run(main())
    assert requests == [["T", "U", "V"], ["T"]]
