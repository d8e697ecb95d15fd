"""The transactional ids that ListTransactions shows."""

from __future__ import annotations

from barnabas.coordinators.transaction.state import TransactionState
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.dataclass import dataclass
from barnabas.model.pattern import Matcher


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """Empty fields match everything."""

    states: frozenset[TransactionState] | None = None
    """An empty set differs from None: the client asked only for states that do not exist."""
    producer_ids: frozenset[int] = frozenset()
    running_ms_min: int = -1
    """Only transactions that began longer ago. As in Kafka, ids without a transaction count as
    older than all others.
    """
    transactional_id: Matcher | None = None

    def shows(self, transaction: Transaction, now_ms: int) -> bool:
        return (
            (self.states is None or transaction.state in self.states)
            and (not self.producer_ids or transaction.producer_id in self.producer_ids)
            and (self.running_ms_min < 0 or now_ms - transaction.start_ms > self.running_ms_min)
            and (self.transactional_id is None or self.transactional_id(transaction.transactional_id))
        )
