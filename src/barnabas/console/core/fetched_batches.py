"""From the bytes of a Fetch response to records, with the state of their transactions. Pure.

A response has whole batches and maybe a part of one more. Its first batch may begin before the
offset that was asked for. Records of a transaction are *aborted* from the first offset of an
aborted transaction up to its marker; the broker lists those transactions when it is asked for
committed records.
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
from barnabas.records.compression import Codec, DecompressionFailed, decompress
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import MalformedRecord, Record, read_records

# Records of a partition that are opened at once, without a caller that needs fewer: they take some
# ten megabytes, and a fraction of a second.
OPENED_RECORDS_MAX: Final = 10_000
# The largest batch that is opened. A compressed batch can hold a thousand times its own size.
OPENED_BYTES_MAX: Final = 256 * 1024 * 1024


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


@dataclass(frozen=True, slots=True)
class OpenedBatches:
    records: list[ReadRecord]
    next_offset: int
    """Where the next fetch goes on; the offset that was asked for if no batch is whole."""
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
) -> OpenedBatches:
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    aborting: set[int] = set()
    records: list[ReadRecord] = []
    unreadable: list[str] = []
    next_offset, has_transactions, passed, read_bytes = from_offset, False, 0, 0
    try:
        for position, header in walk(data):
            if len(records) >= opening.records_max:
                break
            next_offset, read_bytes = max(next_offset, header.last_offset + 1), position + header.size_bytes
            is_transactional = bool(header.attributes & TRANSACTIONAL_BIT)
            has_transactions = has_transactions or is_transactional
            while waiting and waiting[0].first_offset <= header.last_offset:
                aborting.add(waiting.pop(0).producer_id)
            state = _state(header, aborting, stable_offset) if is_transactional else TransactionState.NONE
            is_control = bool(header.attributes & CONTROL_BIT)
            try:
                body = decompress(header.codec, data[position + HEADER_BYTES : position + header.size_bytes], OPENED_BYTES_MAX)
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
