"""Reading one partition for one fetch: which bound applies, what error, which file region."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.replication.partition import Partition
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import OffsetOutOfRange
from barnabas.storage.regions import FileRegion
from barnabas.storage.transaction_index import AbortedTransaction

READ_UNCOMMITTED, READ_COMMITTED = 0, 1


class PartitionRead(NamedTuple):
    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    region: FileRegion | None = None
    aborted: list[AbortedTransaction] | None = None
    diverging: EpochStart | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.region) if self.region is not None else 0


def check_leader(partition: Partition | None, current_leader_epoch: int) -> ErrorCode:
    """Whether this node may speak for the partition to somebody who believes in ``current_leader_epoch`` (-1: has no belief)."""
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not partition.online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if current_leader_epoch >= 0:
        if current_leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if current_leader_epoch > partition.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not partition.leads:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def read_partition(
    partition: Partition | None,
    *,
    offset: int,
    size_bytes_max: int,
    isolation: int,
    current_leader_epoch: int = -1,
    last_fetched_epoch: int = -1,
    at_least_one: bool,
) -> PartitionRead:
    """``OSError`` when the disk failed."""
    error = check_leader(partition, current_leader_epoch)
    if error:
        return PartitionRead(error)
    assert partition is not None
    log = partition.log
    high_watermark, stable, start = partition.high_watermark, partition.last_stable_offset, log.log_start_offset
    if last_fetched_epoch >= 0:
        end = log.leader_epochs.end_offset_for(last_fetched_epoch, log.log_end_offset)
        if end.epoch < 0:
            return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
        if end.epoch < last_fetched_epoch or end.start_offset < offset:
            return PartitionRead(ErrorCode.NONE, high_watermark, stable, start, diverging=end)
    committed = isolation == READ_COMMITTED
    bound = stable if committed else high_watermark
    try:
        region = log.read(offset, size_bytes_max=size_bytes_max, end_offset=bound, at_least_one=at_least_one).region
    except OffsetOutOfRange:
        return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    aborted = None
    if committed:
        aborted = log.aborted_transactions(offset, log.end_of_region(region, offset)) if region is not None else []
    return PartitionRead(ErrorCode.NONE, high_watermark, stable, start, region, aborted)
