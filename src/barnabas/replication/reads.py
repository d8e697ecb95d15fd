"""Reads of one partition for one fetch: the bound that applies, the error, the file region."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.records.batches import CorruptBatch, check_crc, walk
from barnabas.replication.partition import Partition
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import OffsetIsRemote, OffsetOutOfRange
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
    preferred_replica: int = -1
    # The requested offset is in remote storage: read at most this many bytes there, the first batch
    # whole if ``remote_first``.
    remote_bytes_max: int = 0
    remote_first: bool = False
    # The records from there.
    records: bytes | memoryview | None = None

    @property
    def size_bytes(self) -> int:
        if self.region is not None:
            return len(self.region)
        return len(self.records) if self.records is not None else 0

    @property
    def urgent(self) -> bool:
        """Whether the response must be sent at once, however many bytes the fetch waits for."""
        return bool(self.error) or self.diverging is not None or self.preferred_replica >= 0

    @property
    def plain(self) -> bool:
        """Whether a response tells only the offsets and the file region, and nothing special."""
        return not (self.error or self.aborted or self.diverging is not None or self.preferred_replica >= 0 or self.records is not None)


def check_leader(partition: Partition | None, current_leader_epoch: int, *, leader_only: bool = True) -> ErrorCode:
    """NONE if this node may answer for the partition to a client that has ``current_leader_epoch``
    (-1 for no epoch); otherwise the error of the refusal."""
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not partition.online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if current_leader_epoch >= 0:
        if current_leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if current_leader_epoch > partition.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
    if leader_only and not partition.leads:
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
    leader_only: bool = True,
) -> PartitionRead:
    """Read for a consumer. Raises ``OSError`` when the disk failed."""
    error = check_leader(partition, current_leader_epoch, leader_only=leader_only)
    if error:
        return PartitionRead(error)
    assert partition is not None
    refused = _check_epoch(partition, offset, last_fetched_epoch)
    if refused is not None:
        return refused
    log = partition.log
    high_watermark, stable, start = partition.high_watermark, partition.last_stable_offset, log.log_start_offset
    committed = isolation == READ_COMMITTED
    bound = stable if committed else high_watermark
    try:
        region = log.read(offset, size_bytes_max=size_bytes_max, end_offset=bound, at_least_one=at_least_one).region
    except OffsetIsRemote:
        remote_bytes_max = size_bytes_max or int(at_least_one)
        return PartitionRead(
            ErrorCode.NONE, high_watermark, stable, start, None, remote_bytes_max=remote_bytes_max, remote_first=at_least_one
        )
    except OffsetOutOfRange:
        return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    aborted = None
    if committed:
        aborted = log.aborted_transactions(offset, log.end_of_region(region, offset)) if region is not None else []
    return PartitionRead(ErrorCode.NONE, high_watermark, stable, start, region, aborted)


def read_for_follower(
    partition: Partition | None,
    replica: int,
    *,
    offset: int,
    size_bytes_max: int,
    current_leader_epoch: int,
    last_fetched_epoch: int,
    at_least_one: bool,
) -> PartitionRead:
    """Read up to the end of the log, for a broker that is a replica of the partition. Raises
    ``OSError`` when the disk failed."""
    error = check_leader(partition, current_leader_epoch)
    if error:
        return PartitionRead(error)
    assert partition is not None
    if partition.leadership is None or replica not in partition.leadership.followers:
        # The epoch is right and the broker is no replica: one of the two brokers does not have the
        # latest assignment, and the follower will ask again.
        return PartitionRead(ErrorCode.UNKNOWN_LEADER_EPOCH if current_leader_epoch >= 0 else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    refused = _check_epoch(partition, offset, last_fetched_epoch)
    if refused is not None:
        return refused
    log = partition.log
    try:
        region = log.read(offset, size_bytes_max=size_bytes_max, end_offset=log.log_end_offset, at_least_one=at_least_one).region
    except OffsetIsRemote:
        stable, start = partition.last_stable_offset, log.log_start_offset
        return PartitionRead(ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE, partition.high_watermark, stable, start)
    except OffsetOutOfRange:
        return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    return PartitionRead(ErrorCode.NONE, partition.high_watermark, partition.last_stable_offset, log.log_start_offset, region)


def _check_epoch(partition: Partition, offset: int, last_fetched_epoch: int) -> PartitionRead | None:
    """The response to a client whose last batch has ``last_fetched_epoch``, unless the response is
    data."""
    if last_fetched_epoch < 0:
        return None
    log = partition.log
    end = log.leader_epochs.end_offset_for(last_fetched_epoch, log.log_end_offset)
    if end.epoch < 0 or offset < log.log_start_offset:
        return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    if end.epoch < last_fetched_epoch or end.start_offset < offset:
        stable, start = partition.last_stable_offset, log.log_start_offset
        return PartitionRead(ErrorCode.NONE, partition.high_watermark, stable, start, diverging=end)
    return None


def damage_in(region: FileRegion, offset: int) -> int | None:
    """The offset of the first corrupt batch in the region that a reader of ``offset`` gets; None if
    there is none."""
    data = memoryview(region.read())
    try:
        for position, header in walk(data):
            check_crc(data[position : position + header.size_bytes], header)
            offset = header.last_offset + 1
    except CorruptBatch:
        return offset
    return None
