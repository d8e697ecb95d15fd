"""How far a group is behind, in records and in seconds. Pure.

The *lag* of a partition is the number of offsets between the group's and the end. Its *lag in
seconds* is the age of the first record that the group has not done: the time that this record has
been waiting. A group without lag has none of either. The *span* is the time between that record and
the newest one: a topic without new records has old ones that wait, but little to catch up with.

The time of a record is read from the header of its batch, without opening the batch: the header has
the timestamp of the first record and the largest one, and the ones between lie on a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.console.core.group import Member
from barnabas.console.core.topic import Bounds, TopicPartition
from barnabas.console.core.topic_use import lag_of
from barnabas.records.batch_header import HEADER_BYTES, LOG_APPEND_TIME_BIT, MAGIC, read_header


class GroupOffset(NamedTuple):
    """What a group has done in a partition."""

    offset: int
    """Committed; for a share group the first offset that is not done."""
    lag: int | None = None
    """Counted by the coordinator of a share group, whose members leave gaps behind."""
    metadata: str = ""
    leader_epoch: int = -1


class LagSeconds(NamedTuple):
    waiting: float
    span: float | None


@dataclass(frozen=True, slots=True)
class Progress:
    """One partition of a group."""

    topic: str
    partition: int
    committed: int | None
    start: int | None
    end: int | None
    lag: int | None
    lag_seconds: float | None
    span_seconds: float | None
    members: list[str]
    """Ids of its members."""
    client_ids: list[str]
    metadata: str
    remark: str
    """Why a number is missing, or strange."""


def lag_seconds(lag: int | None, first_unread_ms: int | None, newest_ms: int | None, *, now_ms: int) -> LagSeconds | None:
    """None when the time of the first unread record is unknown. Clocks of producers may be ahead of
    ours: a record from the future has waited for no time."""
    if lag == 0:
        return LagSeconds(0.0, 0.0)
    if lag is None or first_unread_ms is None or first_unread_ms < 0:
        return None
    span = None if newest_ms is None or newest_ms < 0 else max(0, newest_ms - first_unread_ms) / 1000
    return LagSeconds(max(0, now_ms - first_unread_ms) / 1000, span)


def time_of_offset(batch: bytes, offset: int) -> int | None:
    """The time of the record at ``offset``, or of the first one behind it. ``batch`` may be cut
    behind its header. None for bytes that are no batch of this format."""
    if len(batch) < HEADER_BYTES:
        return None
    header = read_header(batch)
    if header.magic != MAGIC or header.last_offset_delta < 0:
        return None
    first, last = header.base_timestamp, header.max_timestamp
    if header.attributes & LOG_APPEND_TIME_BIT or first < 0:
        return last if last >= 0 else None
    into = offset - header.base_offset
    if into <= 0 or header.last_offset_delta == 0:
        return first
    return first + (last - first) * min(into, header.last_offset_delta) // header.last_offset_delta


def progress(
    offsets: Mapping[TopicPartition, GroupOffset],
    bounds: Mapping[TopicPartition, Bounds],
    owners: Mapping[TopicPartition, list[Member]],
) -> list[Progress]:
    """A row for each partition that is assigned or has an offset, without times."""
    rows = []
    for place in sorted(offsets.keys() | owners.keys()):
        found, ends, members = offsets.get(place), bounds.get(place), owners.get(place, [])
        lag = None if found is None else found.lag if found.lag is not None else lag_of(found.offset, ends)
        rows.append(
            Progress(
                place.topic,
                place.partition,
                found.offset if found is not None else None,
                ends.start if ends is not None else None,
                ends.end if ends is not None else None,
                lag,
                None,
                None,
                [each.id for each in members],
                [each.client_id for each in members],
                found.metadata if found is not None else "",
                _remark(found, ends),
            )
        )
    return rows


def _remark(found: GroupOffset | None, ends: Bounds | None) -> str:
    if found is None:
        return "No offset is committed yet."
    if ends is None:
        return "The partition is gone, or has no leader."
    if found.offset > ends.end:
        return "The offset is behind the end: the topic was created again, or lost records."
    if found.offset < ends.start:
        return f"{ends.start - found.offset} offsets were deleted before the group read them."
    return ""


def total_lag(rows: Iterable[Progress]) -> int | None:
    """Of the partitions with an offset; None if there are none, or if the lag of one is unknown."""
    known = [each.lag for each in rows if each.committed is not None]
    return None if not known or None in known else sum(each for each in known if each is not None)


def longest(seconds: Iterable[float | None]) -> float | None:
    return max((each for each in seconds if each is not None), default=None)
