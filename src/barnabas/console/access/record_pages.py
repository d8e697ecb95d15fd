"""Pages of records: the newest or oldest ones, from an offset or a time, with or without a filter.

A page reads until it has enough records, until the partitions end, or until its time is over; then
it names the positions at which the next page goes on. A filter is a condition of
:mod:`barnabas.record_filter`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.record_decoder import RecordDecoder
from barnabas.console.access.record_reading import FetchedPartition, fetch
from barnabas.console.access.shown_records import FilteredRecord
from barnabas.console.core.fetched_batches import Opening
from barnabas.console.core.positions import newest_starts, read_share, unfinished
from barnabas.console.core.record import ReadRecord
from barnabas.console.core.topic import Bounds, Topic

Condition = Callable[[FilteredRecord], bool]
# How long a page reads for a filter before it begins no further step, so that it answers in about
# a second; the next page goes on, and a search reads all.
PAGE_SECONDS_MAX: Final = 0.5
# Bytes that a page of records reads from each partition at once, and a search.
PAGE_BYTES: Final = 256 * 1024
SEARCH_BYTES: Final = 1024 * 1024
# A page of the newest records goes back this many times if it finds too few: compaction and
# transactions leave offsets without records.
STEPS_BACK_MAX: Final = 6
# Bytes of the first fetch of a reader. A megabyte of compressed batches may have millions of
# records, so the next fetches are as large as the part that was read of the one before.
_FIRST_BYTES: Final = 64 * 1024
# Records of all partitions that one step opens: less than a tenth of a second on a free machine.
STEP_RECORDS: Final = 2_500
# Responses without any record before a reader gives up.
STALLS_MAX: Final = 3
# Bytes of records that a page has, or one larger record; a few of 20 MB must not fill the memory.
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadPart:
    """What one step of a reader found."""

    records: list[ReadRecord]
    """In the order of time."""
    positions: dict[int, int]
    share: float
    """How much of the way is done."""
    scanned: int
    """Records that this step looked at."""
    problems: list[str]


async def read_parts(
    client: ClusterClient,
    topic: Topic,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    *,
    condition: Condition | None,
    decoder: RecordDecoder,
    with_control: bool,
    partition_bytes_max: int,
    records_max: int = STEP_RECORDS,
    needle: bytes | None = None,
) -> AsyncIterator[ReadPart]:
    """Reads from the starts to the ends, a response of each leader at a time, and ``records_max``
    records of each partition at most. A partition with an error is not read further. Batches
    without the ``needle`` have no record that matches."""
    positions, stalls = dict(starts), 0
    size = min(_FIRST_BYTES, partition_bytes_max)
    while left := unfinished(positions, ends):
        opening = Opening(max(1, min(records_max, STEP_RECORDS // len(left))), needle)
        fetched = await fetch(client, topic, left, partition_bytes_max=size, opening=opening)
        read_bytes = max((each.opened.read_bytes for each in fetched.values()), default=0)
        size = min(max(2 * read_bytes, _FIRST_BYTES), partition_bytes_max)
        records, scanned, problems = await client.run(_part, fetched, ends, condition, decoder, with_control)
        moved = any(found.opened.next_offset > positions[each] for each, found in fetched.items())
        # A response has a size, so a partition may have to wait for the next one. When no partition
        # moves, there is nothing to read up to the ends.
        stalls = 0 if moved else stalls + 1
        for each, found in fetched.items():
            is_done = found.error is not None or found.end_offset <= positions[each] or stalls >= STALLS_MAX
            positions[each] = ends[each] if is_done else found.opened.next_offset
        yield ReadPart(records, dict(positions), read_share(starts, positions, ends), scanned, problems)


def _part(
    fetched: Mapping[int, FetchedPartition],
    ends: Mapping[int, int],
    condition: Condition | None,
    decoder: RecordDecoder,
    with_control: bool,
) -> tuple[list[ReadRecord], int, list[str]]:
    records: list[ReadRecord] = []
    problems: list[str] = []
    scanned = 0
    for partition, found in fetched.items():
        problems += [found.error] if found.error is not None else found.opened.unreadable
        scanned += found.opened.passed
        for each in found.opened.records:
            if each.offset >= ends[partition]:
                break
            scanned += 1
            if (with_control or each.control is None) and (condition is None or condition(FilteredRecord(each, decoder))):
                records.append(each)
    return sorted(records, key=_in_time), scanned, problems


@dataclass(frozen=True, slots=True)
class RecordPage:
    records: list[ReadRecord]
    positions: dict[int, int]
    """Where the next page goes on."""
    is_complete: bool
    """Whether the ends are reached."""
    share: float
    scanned: int
    problems: list[str]


async def page_forward(
    client: ClusterClient,
    topic: Topic,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    records_max: int,
    *,
    condition: Condition | None = None,
    decoder: RecordDecoder,
    with_control: bool = False,
    needle: bytes | None = None,
) -> RecordPage:
    """The first records from the starts on. Records that were read and do not fit on the page are
    read again by the next one: its positions are those behind the last record of this one."""
    deadline = time.monotonic() + PAGE_SECONDS_MAX
    found: list[ReadRecord] = []
    problems: list[str] = []
    positions, scanned = dict(starts), 0
    size = PAGE_BYTES if condition is None else SEARCH_BYTES
    async for part in read_parts(
        client,
        topic,
        starts,
        ends,
        condition=condition,
        decoder=decoder,
        with_control=with_control,
        partition_bytes_max=size,
        records_max=records_max if condition is None else STEP_RECORDS,
        needle=needle,
    ):
        found += part.records
        positions, scanned = part.positions, scanned + part.scanned
        problems += part.problems
        if len(found) >= records_max or time.monotonic() > deadline or size_bytes(found) > KEPT_BYTES_MAX:
            break
    found.sort(key=_in_time)
    shown, rest = found[:records_max], found[records_max:]
    for each in rest:
        positions[each.partition] = min(positions[each.partition], each.offset)
    share = read_share(starts, positions, ends)
    return RecordPage(shown, positions, not unfinished(positions, ends), share, scanned, problems)


async def page_newest(
    client: ClusterClient,
    topic: Topic,
    bounds: Mapping[int, Bounds],
    records_max: int,
    *,
    decoder: RecordDecoder,
    with_control: bool = False,
) -> RecordPage:
    """The last records before the ends of ``bounds``, the newest first. Positions are where the
    next page, of older records, ends."""
    ends = {each: bound.end for each, bound in bounds.items()}
    span, scanned = records_max, 0
    found: list[ReadRecord] = []
    problems: list[str] = []
    starts = newest_starts(bounds, span)
    for _ in range(STEPS_BACK_MAX):
        found, problems, scanned = [], [], 0
        older = dict(starts)
        is_full = False
        async for part in read_parts(
            client, topic, starts, ends, condition=None, decoder=decoder, with_control=with_control, partition_bytes_max=PAGE_BYTES
        ):
            found = sorted(found + part.records, key=_in_time)
            problems += part.problems
            scanned += part.scanned
            rest = len(found) - _newest_count(found, records_max)
            for each in found[:rest]:
                older[each.partition] = max(older[each.partition], each.offset + 1)
                is_full = True
            del found[:rest]
        if is_full or len(found) >= records_max or all(starts[each] <= bound.start for each, bound in bounds.items()):
            break
        span *= 8
        starts = newest_starts(bounds, span)
    # A partition without a record on the page ends where it did, unless all before was read.
    complete = all(older[each] <= bound.start for each, bound in bounds.items())
    return RecordPage(found[::-1], older, complete, 1.0, scanned, problems)


def _newest_count(records: list[ReadRecord], records_max: int) -> int:
    """How many of the last records fit on a page."""
    kept_bytes = 0
    for count, each in enumerate(reversed(records[-records_max:])):
        kept_bytes += _size(each)
        if count and kept_bytes > KEPT_BYTES_MAX:
            return count
    return min(records_max, len(records))


def _in_time(record: ReadRecord) -> tuple[int, int, int]:
    return record.timestamp, record.partition, record.offset


def size_bytes(records: list[ReadRecord]) -> int:
    return sum(map(_size, records))


def _size(record: ReadRecord) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
