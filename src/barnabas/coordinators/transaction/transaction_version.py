"""The levels of the feature ``transaction.version``, and which of them a request speaks (KIP-890).

| level | what it brings |
|---|---|
| 0 | transactions as in 0.11 |
| 1 | records of the transaction log have tagged fields |
| 2 | every end of a transaction raises the producer's epoch; partitions join with the first record produced to them |

A request shows by its version whether its client speaks 2: clients use those versions only where the cluster has finalised it. What the
coordinator does by itself (timeouts, fencing) follows the finalised level.
"""

from __future__ import annotations

NEWEST = 2
OLDEST = 0

_FLEXIBLE_RECORDS = 1
_EPOCH_PER_TRANSACTION = 2

_END_TXN_OF_2 = 5
_ADD_PARTITIONS_OF_2 = 4


def raises_epoch(transaction_version: int) -> bool:
    """Whether the end of a transaction raises the producer's epoch."""
    return transaction_version >= _EPOCH_PER_TRANSACTION


def log_value_version(transaction_version: int) -> int:
    return 1 if transaction_version >= _FLEXIBLE_RECORDS else 0


def version_of_end_txn(api_version: int) -> int:
    return NEWEST if api_version >= _END_TXN_OF_2 else OLDEST


def version_of_add_partitions(api_version: int) -> int:
    """Brokers send the newer versions, and add partitions (rather than verify them) only for clients that speak 2."""
    return NEWEST if api_version >= _ADD_PARTITIONS_OF_2 else OLDEST
