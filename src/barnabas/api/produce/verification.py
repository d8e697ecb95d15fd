"""Asks a transaction's coordinator before its first batch is appended to a partition (KIP-890).

Newer clients do not add partitions to their transactions: the broker does it for them, here. Older
clients do, and the coordinator only confirms it, unless
``transaction.partition.verification.enable`` is off.

The coordinator is this broker or another one. Another one receives AddPartitionsToTxn, for many
transactions at a time.

A producer may have several requests in flight when its transaction begins. Their questions are
asked one after the other, so that the batches are appended in the order in which they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.transaction_version import NEWEST
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.network.outboxes import Outboxes
from barnabas.replication.verification import Verification
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from barnabas.api.broker import Broker
    from barnabas.coordinators.transaction.machine import TransactionMachine

Verdicts: TypeAlias = Mapping[TopicPartition, ErrorCode]

_PURPOSE = "transactions"


@dataclass(frozen=True, slots=True)
class _Question:
    transactional_id: str
    producer: ProducerIdentity
    partitions: Sequence[TopicPartition]
    implicit: bool
    """The question itself adds the partitions to the transaction."""
    verifications: Sequence[Verification] = ()
    is_open: Callable[[], bool] = lambda: False
    """Whether the transaction has begun in all partitions, so that there is nothing to ask."""
    verdicts: Promise[Verdicts] = field(default_factory=Promise)

    def answer_all(self, code: ErrorCode) -> None:
        self.verdicts.resolve(dict.fromkeys(self.partitions, code))

    def as_transaction(self) -> AddPartitionsToTxnTransaction:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in self.partitions:
            by_topic.setdefault(topic, []).append(partition)
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.producer_epoch,
            verify_only=not self.implicit,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=partitions) for topic, partitions in by_topic.items()],
        )


def verify(
    broker: Broker,
    transactional_id: str,
    producer: ProducerIdentity,
    partitions: Sequence[TopicPartition],
    *,
    implicit: bool,
    verifications: Sequence[Verification] = (),
    is_open: Callable[[], bool] = lambda: False,
) -> Promise[Verdicts]:
    """Whether a producer's transaction may begin in these partitions; ``implicit`` begins it.

    Nothing is asked if the transaction ``is_open`` when the turn of this question comes.
    """
    if not implicit and not broker.settings.flag("transaction.partition.verification.enable"):
        return Promise.kept(dict.fromkeys(partitions, ErrorCode.NONE))
    if not transactional_id:
        return Promise.kept(dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST))
    question = _Question(transactional_id, producer, partitions, implicit, verifications, is_open)
    broker.questions_to_coordinators.put(broker, question)
    return question.verdicts


def _ask_until_settled(broker: Broker, question: _Question) -> Promise[Verdicts]:
    """The next transaction of a producer cannot begin while the previous one is ending. That takes
    milliseconds, so the broker asks the coordinator a few more times before it returns
    CONCURRENT_TRANSACTIONS to the client. It also asks again when the previous transaction ended
    here after the question was asked: the coordinator may have answered for the next one.
    """
    settled: Promise[Verdicts] = Promise()
    retry_ms = broker.settings.integer("add.partitions.to.txn.retry.backoff.ms")
    retries_max = broker.settings.integer("add.partitions.to.txn.retry.backoff.max.ms") // retry_ms

    def attempt(retries_left: int) -> None:
        for each in question.verifications:
            each.renew()
        _ask(broker, replace(question, verdicts=Promise())).then(lambda found: answered(found, retries_left))

    def answered(found: Verdicts, retries_left: int) -> None:
        outdated = any(each.void for each in question.verifications)
        if retries_left and (outdated or ErrorCode.CONCURRENT_TRANSACTIONS in found.values()):
            broker.loop.call_later(retry_ms / 1000, attempt, retries_left - 1)
        else:
            settled.resolve(found)

    attempt(retries_max)
    return settled


def _ask(broker: Broker, question: _Question) -> Promise[Verdicts]:
    partition = broker.transactions.partition_of(question.transactional_id)
    coordinator = broker.others.leader_of(TopicPartition(broker.transactions.topic, partition)) if partition is not None else NO_NODE
    if coordinator == broker.node_id:
        _ask_here(broker, question)
    elif coordinator == NO_NODE:
        question.answer_all(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    else:
        broker.questions_to_coordinators.send(broker, coordinator, question)
    return question.verdicts


def _ask_here(broker: Broker, question: _Question) -> None:
    def ask(machine: TransactionMachine, now_ms: int) -> Outcome[Verdicts]:
        transactional_id, producer, partitions = question.transactional_id, question.producer, question.partitions
        if not question.implicit:
            return machine.verify(transactional_id, *producer, partitions)  # type: ignore[return-value]
        added = machine.add_partitions(transactional_id, *producer, partitions, now_ms, transaction_version=NEWEST)
        return replace(added, answer=dict.fromkeys(partitions, added.answer))  # type: ignore[arg-type, return-value]

    def answered(answer: Verdicts | ErrorCode) -> None:
        if isinstance(answer, ErrorCode):
            question.answer_all(answer)
        else:
            question.verdicts.resolve(answer)

    broker.transactions.run(question.transactional_id, ask).then(answered)


class QuestionsToCoordinators:
    """The questions of this broker that are not answered yet. There are no more than requests in
    flight."""

    def __init__(self) -> None:
        # By transactional id, while one of its questions is being asked.
        self._waiting: dict[str, deque[_Question]] = {}
        self._outboxes: Outboxes[_Question] | None = None

    def put(self, broker: Broker, question: _Question) -> None:
        waiting = self._waiting.get(question.transactional_id)
        if waiting is not None:
            waiting.append(question)
        else:
            self._waiting[question.transactional_id] = deque()
            self._ask(broker, question)

    def _ask(self, broker: Broker, question: _Question) -> None:
        def settled(found: Verdicts) -> None:
            question.verdicts.resolve(found)
            self._ask_next(broker, question.transactional_id)

        _ask_until_settled(broker, question).then(settled)

    def _ask_next(self, broker: Broker, transactional_id: str) -> None:
        waiting = self._waiting[transactional_id]
        while waiting:
            question = waiting.popleft()
            if not question.is_open():
                # Use the loop, not this callback: a coordinator on this broker answers at once, and
                # a long line would recurse deeper and deeper.
                broker.loop.call_soon(self._ask, broker, question)
                return
            question.answer_all(ErrorCode.NONE)
        del self._waiting[transactional_id]

    def send(self, broker: Broker, coordinator: int, question: _Question) -> None:
        """To another broker. A producer asks once for each partition and transaction, so the
        questions go in batches."""
        if self._outboxes is None:
            self._outboxes = Outboxes(
                lambda broker_id, questions: _send(broker, broker_id, questions), key=lambda each: each.transactional_id
            )
        self._outboxes.put(coordinator, question)


def _send(broker: Broker, coordinator: int, questions: list[_Question]) -> Promise[None]:
    request = AddPartitionsToTxnRequest(transactions=[question.as_transaction() for question in questions])
    sent = broker.others.send(coordinator, request, purpose=_PURPOSE)
    if sent is None:
        for question in questions:
            question.answer_all(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Promise.kept(None)
    return sent.map(lambda outcome: _answered(questions, outcome))


def _answered(questions: list[_Question], outcome: AddPartitionsToTxnResponse | ErrorCode) -> None:
    """A missing verdict, for any reason, makes the producer retry; it does not abort."""
    found: dict[tuple[str, str, int], ErrorCode] = {}
    if not isinstance(outcome, ErrorCode) and outcome.error_code == ErrorCode.NONE:
        for transaction in outcome.results_by_transaction:
            for topic in transaction.topic_results:
                for each in topic.results_by_partition:
                    found[transaction.transactional_id, topic.name, each.partition_index] = known_error(each.partition_error_code)
    for question in questions:
        question.verdicts.resolve(
            {each: found.get((question.transactional_id, *each), ErrorCode.COORDINATOR_NOT_AVAILABLE) for each in question.partitions}
        )
