"""Requests about the offsets of a log."""

from __future__ import annotations

from barnabas.records.compression import Codec
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.conformance.differential.produced import batch_at

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
BATCHES = [
    batch_at(1000, 1001, 1002),
    batch_at(5000),
    batch_at(2000, 3000),
    batch_at(6001, 6000, 6001, codec=Codec.GZIP),
    batch_at(5500, 5501, codec=Codec.ZSTD),
]


def at(
    timestamp: int, topic: str = "timed", partition: int = 0, *, epoch: int = -1, isolation: int = 0, replica: int = -1, times: int = 1
) -> ListOffsetsRequest:
    asked = ListOffsetsPartition(partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp)
    return ListOffsetsRequest(
        replica_id=replica, isolation_level=isolation, topics=[ListOffsetsTopic(name=topic, partitions=[asked] * times)], timeout_ms=1000
    )
