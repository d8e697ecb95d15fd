"""The levels of the feature ``transaction.version``, and the level that a request implies
(KIP-890).

| level | meaning                                                                     |
|-------|-----------------------------------------------------------------------------|
| 0     | transactions as in Kafka 0.11                                               |
| 1     | records of the transaction log have tagged fields                           |
| 2     | every end raises the producer epoch; partitions join with their first batch |

The version of a request shows whether its client uses level 2: clients send those versions only if
the cluster has finalized it. Actions of the coordinator itself (timeouts, fencing) follow the
finalized level.
"""

from __future__ import annotations

NEWEST = 2
OLDEST = 0

_FLEXIBLE_RECORDS = 1
_EPOCH_PER_TRANSACTION = 2

_END_TXN_OF_2 = 5
_ADD_PARTITIONS_OF_2 = 4


def raises_epoch(transaction_version: int) -> bool:
    """Whether the end of a transaction raises the producer epoch."""
    return transaction_version >= _EPOCH_PER_TRANSACTION


def log_value_version(transaction_version: int) -> int:
    return 1 if transaction_version >= _FLEXIBLE_RECORDS else 0


def version_of_end_txn(api_version: int) -> int:
    return NEWEST if api_version >= _END_TXN_OF_2 else OLDEST


def version_of_add_partitions(api_version: int) -> int:
    """Brokers send the newer versions, and add partitions, rather than verify them, only for
    clients of level 2.
    """
    return NEWEST if api_version >= _ADD_PARTITIONS_OF_2 else OLDEST
