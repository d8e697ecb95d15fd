"""What the coordinator of a transaction wants done outside its shard."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class WriteMarkers:
    """Append the transaction's end to all its partitions, however often it takes, and then tell the shard: ``markers_written``.

    The end is decided: nothing may stop it except another coordinator taking over. There may be no partitions at all.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]
    transaction_version: int
    """Of the transaction. From 2 on the marker's epoch is above that of the data it ends (KIP-890)."""
