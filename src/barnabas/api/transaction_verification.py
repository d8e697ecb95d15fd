"""Asking a transaction's coordinator before its first batch is appended to a partition (KIP-890).

Newer clients do not add partitions to their transactions themselves: the broker does it for them, here. Older clients did, and the
coordinator only confirms it, unless ``transaction.partition.verification.enable`` is off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from barnabas.api.broker import Broker
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.transaction_version import NEWEST
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise

Verdicts: TypeAlias = Mapping[TopicPartition, ErrorCode]


def verify(
    broker: Broker, transactional_id: str, producer: ProducerIdentity, partitions: Sequence[TopicPartition], *, implicit: bool
) -> Promise[Verdicts]:
    """Whether a producer's transaction may begin in these partitions. With ``implicit`` it does so by being asked.

    While the last transaction of the producer is being ended the next cannot begin. That takes milliseconds, so before the client hears of
    CONCURRENT_TRANSACTIONS the coordinator is asked a few times more.
    """
    if not implicit and not broker.settings.flag("transaction.partition.verification.enable"):
        return Promise.kept(dict.fromkeys(partitions, ErrorCode.NONE))
    if not transactional_id:
        return Promise.kept(dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST))
    verdicts: Promise[Verdicts] = Promise()
    retry_ms = broker.settings.integer("add.partitions.to.txn.retry.backoff.ms")
    retries_max = broker.settings.integer("add.partitions.to.txn.retry.backoff.max.ms") // retry_ms

    def ask(machine: TransactionMachine, now_ms: int) -> Outcome[Verdicts]:
        if not implicit:
            return machine.verify(transactional_id, *producer, partitions)  # type: ignore[return-value]
        added = machine.add_partitions(transactional_id, *producer, partitions, now_ms, transaction_version=NEWEST)
        return replace(added, answer=dict.fromkeys(partitions, added.answer))  # type: ignore[arg-type, return-value]

    def attempt(retries_left: int) -> None:
        broker.transactions.run(transactional_id, ask).then(lambda answer: answered(answer, retries_left))

    def answered(answer: Verdicts | ErrorCode, retries_left: int) -> None:
        found = dict.fromkeys(partitions, answer) if isinstance(answer, ErrorCode) else answer
        if retries_left and ErrorCode.CONCURRENT_TRANSACTIONS in found.values():
            broker.loop.call_later(retry_ms / 1000, attempt, retries_left - 1)
        else:
            verdicts.resolve(found)

    attempt(retries_max)
    return verdicts
