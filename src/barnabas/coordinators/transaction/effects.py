"""The actions that a transaction coordinator requests outside its shard."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class WriteMarkers:
    """Append the end of the transaction to all its partitions, with retries, and then call
    ``markers_written`` of the shard.

    The end is decided, so only another coordinator that takes over may stop it. The list of
    partitions may be empty.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]
    transaction_version: int
    """The version of the transaction. From 2 on the epoch of the marker is above that of its data
    (KIP-890).
    """
