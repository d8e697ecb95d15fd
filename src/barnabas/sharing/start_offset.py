"""Where a share group begins in a partition in which it has no state yet: the setting
``share.auto.offset.reset``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.config.durations import duration_ms
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.replication.partition import Partition
from barnabas.storage.finding_by_time import TimestampOffset

if TYPE_CHECKING:
    from barnabas.tiered.remote_log import RemoteLog

EARLIEST, LATEST = "earliest", "latest"


def start_offset(replica: Partition, reset: str, *, wall_ms: int, remote_log: RemoteLog | None) -> Answer[int | ErrorCode]:
    """OFFSET_NOT_AVAILABLE while a new leader does not know yet what was committed before it.
    Raises ``OSError`` when the disk failed."""
    log = replica.log
    if reset == EARLIEST:
        return log.log_start_offset
    leadership = replica.leadership
    if leadership is not None and leadership.epoch_start_offset > replica.high_watermark:
        return ErrorCode.OFFSET_NOT_AVAILABLE
    if reset == LATEST:
        return replica.high_watermark
    span_ms = duration_ms(reset.partition(":")[2])
    assert span_ms is not None, "the controller checked the setting"
    since_ms = wall_ms - span_ms
    if remote_log is not None and log.log_start_offset < log.local_start_offset:
        return remote_log.offset_for_timestamp(replica, since_ms).map(lambda found: _visible(replica, found))
    return _visible(replica, log.offset_for_timestamp(since_ms))


def _visible(replica: Partition, found: TimestampOffset | ErrorCode | None) -> int | ErrorCode:
    if isinstance(found, ErrorCode):
        return found
    # Without a record of that time the group begins with the next one.
    return replica.high_watermark if found is None else min(found.offset, replica.high_watermark)
