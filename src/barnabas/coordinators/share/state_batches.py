"""Delivery states of ranges of offsets, merged into one list without overlaps.

A share partition's leader writes the ranges whose state has changed. Where two ranges overlap, the
one with the higher delivery count counts, and with equal counts the one with the higher delivery
state: both only rise while a record is delivered, so the order of arrival does not matter.
Neighbours with equal state become one range. Ranges below the start of the share partition are
dropped.

The lists are those that Kafka's coordinator would keep, batch by batch: snapshots of both contain
the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from barnabas.coordinators.share.persister import NO_START_OFFSET, StateBatch


def combine(batches: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """``batches`` come in any order and may overlap, but none ends before it begins."""
    if start_offset != NO_START_OFFSET:
        batches = _from_start(batches, start_offset)
    waiting = deque(sorted(batches))
    # Pieces of batches that overlapped, as a heap. Most batches do not overlap, and stay in the
    # sorted queue.
    pieces: list[StateBatch] = []
    combined: list[StateBatch] = []
    # Each step either completes the lowest batch, or replaces the two lowest by batches that
    # overlap less.
    while waiting or pieces:
        low = _take(waiting, pieces)
        if not waiting and not pieces:
            combined.append(low)
            break
        high = pieces[0] if pieces and (not waiting or pieces[0] < waiting[0]) else waiting[0]
        equal = low[2:] == high[2:]
        if high.first_offset > low.last_offset + equal:
            combined.append(low)
            continue
        _take(waiting, pieces)
        for piece in _joined(low, high) if equal else _divided(low, high):
            heappush(pieces, piece)
    return tuple(combined)


def _take(waiting: deque[StateBatch], pieces: list[StateBatch]) -> StateBatch:
    return heappop(pieces) if pieces and (not waiting or pieces[0] < waiting[0]) else waiting.popleft()


def _from_start(batches: Iterable[StateBatch], start_offset: int) -> Iterable[StateBatch]:
    for batch in batches:
        if batch.first_offset >= start_offset:
            yield batch
        elif batch.last_offset >= start_offset:
            yield batch._replace(first_offset=start_offset)


def _joined(low: StateBatch, high: StateBatch) -> Iterable[StateBatch]:
    yield low._replace(last_offset=max(low.last_offset, high.last_offset))


def _divided(low: StateBatch, high: StateBatch) -> Iterable[StateBatch]:
    """Two overlapping batches with different states; ``low`` begins first, or ends first."""
    if (high.delivery_count, high.delivery_state) > (low.delivery_count, low.delivery_state):
        if low.first_offset < high.first_offset:
            yield low._replace(last_offset=high.first_offset - 1)
        yield high
        if low.last_offset > high.last_offset:
            yield low._replace(first_offset=high.last_offset + 1)
    else:
        yield low
        if high.last_offset > low.last_offset:
            yield high._replace(first_offset=low.last_offset + 1)
