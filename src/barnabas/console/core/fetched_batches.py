"""From the bytes of a Fetch response to records, with the state of their transactions. Pure.

A response has whole batches and maybe a part of one more. Its first batch may begin before the
offset that was asked for. Records of a transaction are *aborted* from the first offset of an
aborted transaction up to its marker; the broker lists those transactions when it is asked for
committed records.

Invariant: an opened response takes at most :data:`OPENED_BYTES_MAX`, or one larger batch, however
many partitions it has: a few kilobytes of each may be compressed gigabytes. The partitions share a
:class:`Budget`, and the next fetch goes on where it was spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from barnabas.console.core.record import BatchFacts, ReadRecord, TransactionState
from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import CODEC_MASK, CONTROL_BIT, HEADER_BYTES, LOG_APPEND_TIME_BIT, TRANSACTIONAL_BIT, BatchHeader
from barnabas.records.batches import CorruptBatch, walk
from barnabas.records.compression import Codec, DecompressionFailed, DecompressionTooLarge, decompress
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import MalformedRecord, Record, read_records

# Records of a partition that are opened at once, without a caller that needs fewer: they take some
# ten megabytes, and a fraction of a second.
OPENED_RECORDS_MAX: Final = 10_000
# Bytes of a response after decompression. A compressed batch can hold a thousand times its own
# size.
OPENED_BYTES_MAX: Final = 64 * 1024 * 1024
# The largest batch that is opened; one beyond the bytes of a response is opened alone.
BATCH_BYTES_MAX: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class Opening:
    """How much of a response is opened. A small response may hold millions of records."""

    records_max: int = OPENED_RECORDS_MAX
    """Of each partition; the next fetch goes on behind the last one."""
    needle: bytes | None = None
    """A batch without these bytes is passed over: no record of it has the key."""


EVERYTHING: Final = Opening()


class Budget:
    """The bytes that the batches of one response may still take when they are opened."""

    def __init__(self, bytes_max: int = OPENED_BYTES_MAX, *, batch_bytes_max: int = BATCH_BYTES_MAX) -> None:
        self._left = bytes_max
        self._batch_bytes_max = batch_bytes_max
        self._is_whole = True

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def open(self, codec: int, data: bytes) -> Buffer | None:
        """None for a batch that has to wait for the next response. The first batch of a response
        never has to, so that a reader always goes on. Raises ``DecompressionFailed``."""
        size_bytes_max = self._batch_bytes_max if self._is_whole else min(self._left, self._batch_bytes_max)
        try:
            body = decompress(codec, data, size_bytes_max)
        except DecompressionTooLarge:
            # Its attempt took all that is left. Otherwise each of a hundred partitions would try.
            self._left = 0
            if self._is_whole:
                raise
            return None
        finally:
            self._is_whole = False
        self._left -= len(body)
        return body


@dataclass(frozen=True, slots=True)
class OpenedBatches:
    records: list[ReadRecord]
    next_offset: int
    """Where the next fetch goes on; the offset that was asked for if no batch was opened."""
    has_transactions: bool
    unreadable: list[str]
    """A sentence for each batch that cannot be opened; its offsets are skipped."""
    passed: int = 0
    """Records of batches that were passed over."""
    read_bytes: int = 0
    """How far the response was read."""


def open_batches(
    topic: str,
    partition: int,
    data: bytes,
    *,
    from_offset: int,
    stable_offset: int,
    aborted: Iterable[AbortedTransaction],
    opening: Opening = EVERYTHING,
    budget: Budget | None = None,
) -> OpenedBatches:
    """``budget`` is the one of the response; without it, these are its only batches."""
    budget = budget or Budget()
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    aborting: set[int] = set()
    records: list[ReadRecord] = []
    unreadable: list[str] = []
    next_offset, has_transactions, passed, read_bytes = from_offset, False, 0, 0
    try:
        for position, header in walk(data):
            if len(records) >= opening.records_max or budget.is_spent:
                break
            is_transactional = bool(header.attributes & TRANSACTIONAL_BIT)
            has_transactions = has_transactions or is_transactional
            while waiting and waiting[0].first_offset <= header.last_offset:
                aborting.add(waiting.pop(0).producer_id)
            state = _state(header, aborting, stable_offset) if is_transactional else TransactionState.NONE
            is_control = bool(header.attributes & CONTROL_BIT)
            before = next_offset, read_bytes
            next_offset, read_bytes = max(next_offset, header.last_offset + 1), position + header.size_bytes
            try:
                body = budget.open(header.codec, data[position + HEADER_BYTES : position + header.size_bytes])
                if body is None:
                    next_offset, read_bytes = before
                    break
                if opening.needle is not None and not is_control and opening.needle not in bytes(body):
                    passed += header.record_count
                    continue
                room = opening.records_max - len(records)
                opened = list(islice(_records(topic, partition, header, body, state, from_offset), room + 1))
            except (MalformedRecord, DecompressionFailed) as error:
                unreadable.append(f"The batch at offset {header.base_offset} of partition {partition} cannot be opened: {error}.")
                continue
            if len(opened) > room:
                next_offset = opened.pop().offset
            records += opened
            if is_control and opened and opened[0].control == "abort":
                aborting.discard(header.producer_id)
    except CorruptBatch as error:
        unreadable.append(f"Partition {partition} cannot be read from offset {next_offset} on: {error}.")
    return OpenedBatches(records, next_offset, has_transactions, unreadable, passed, read_bytes)


def _state(header: BatchHeader, aborting: set[int], stable_offset: int) -> TransactionState:
    if header.base_offset >= stable_offset:
        return TransactionState.UNDECIDED
    return TransactionState.ABORTED if header.producer_id in aborting else TransactionState.COMMITTED


def _records(
    topic: str, partition: int, header: BatchHeader, body: Buffer, state: TransactionState, from_offset: int
) -> Iterator[ReadRecord]:
    facts = BatchFacts(
        header.base_offset,
        header.record_count,
        header.size_bytes,
        _codec_name(header.attributes & CODEC_MASK),
        header.leader_epoch,
        bool(header.attributes & LOG_APPEND_TIME_BIT),
        header.producer_id if header.producer_id >= 0 else None,
        header.producer_epoch if header.producer_id >= 0 else None,
        header.base_sequence if header.base_sequence >= 0 else None,
    )
    is_control = bool(header.attributes & CONTROL_BIT)
    for each in read_records(header, body, from_offset):
        if each.offset >= from_offset:
            control = _kind(each) if is_control else None
            yield ReadRecord(topic, partition, each.offset, each.timestamp, each.key, each.value, each.headers, state, control, facts)


def _kind(record: Record) -> str:
    try:
        kind = read_control_type(record)
    except ValueError:
        return "control"
    return ControlType(kind).name.lower().replace("_", " ") if kind in ControlType._value2member_map_ else f"control {kind}"


def _codec_name(codec: int) -> str:
    return Codec(codec).name.lower() if codec in Codec._value2member_map_ else f"codec {codec}"
