"""The states of a transactional id, with Kafka's numbers and names."""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    # The last two never reach the log: a dead id is a tombstone, and fencing proceeds to
    # PREPARE_ABORT in the same step.
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """The name in ListTransactions and DescribeTransactions: ``PrepareCommit``."""
        return "".join(word.capitalize() for word in self.name.split("_"))


STATE_BY_TITLE = {state.title: state for state in TransactionState}

# The end is decided, and markers are being written.
PREPARED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
# No transaction is open: a new transaction or a new producer may start, or the id may expire.
AT_REST = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
