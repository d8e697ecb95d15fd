"""From the bytes of a Fetch response to records, with the state of their transactions. Pure.

A response has whole batches and maybe a part of one more. Its first batch may begin before the
offset that was asked for. Records of a transaction are *aborted* from the first offset of an
aborted transaction up to its marker; the broker lists those transactions when it is asked for
committed records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from barnabas.console.core.record import BatchFacts, ReadRecord, TransactionState
from barnabas.records.batch_header import CODEC_MASK, CONTROL_BIT, LOG_APPEND_TIME_BIT, TRANSACTIONAL_BIT, BatchHeader
from barnabas.records.batches import CorruptBatch, walk
from barnabas.records.compression import Codec, DecompressionFailed
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import MalformedRecord, Record, open_batch

# The largest batch that is opened. A compressed batch can hold a thousand times its own size.
OPENED_BYTES_MAX: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class OpenedBatches:
    records: list[ReadRecord]
    next_offset: int
    """Where the next fetch goes on; the offset that was asked for if no batch is whole."""
    has_transactions: bool
    unreadable: list[str]
    """A sentence for each batch that cannot be opened; its offsets are skipped."""


def open_batches(
    topic: str, partition: int, data: bytes, *, from_offset: int, stable_offset: int, aborted: Iterable[AbortedTransaction]
) -> OpenedBatches:
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    aborting: set[int] = set()
    records: list[ReadRecord] = []
    unreadable: list[str] = []
    next_offset, has_transactions = from_offset, False
    try:
        for position, header in walk(data):
            next_offset = max(next_offset, header.last_offset + 1)
            is_transactional = bool(header.attributes & TRANSACTIONAL_BIT)
            has_transactions = has_transactions or is_transactional
            while waiting and waiting[0].first_offset <= header.last_offset:
                aborting.add(waiting.pop(0).producer_id)
            try:
                opened = list(open_batch(data[position : position + header.size_bytes], OPENED_BYTES_MAX))
            except (MalformedRecord, DecompressionFailed) as error:
                unreadable.append(f"The batch at offset {header.base_offset} of partition {partition} cannot be opened: {error}.")
                continue
            state = _state(header, aborting, stable_offset) if is_transactional else TransactionState.NONE
            records += _records(topic, partition, header, opened, state, from_offset)
            if header.attributes & CONTROL_BIT and opened and _kind(opened[0]) == "abort":
                aborting.discard(header.producer_id)
    except CorruptBatch as error:
        unreadable.append(f"Partition {partition} cannot be read from offset {next_offset} on: {error}.")
    return OpenedBatches(records, next_offset, has_transactions, unreadable)


def _state(header: BatchHeader, aborting: set[int], stable_offset: int) -> TransactionState:
    if header.base_offset >= stable_offset:
        return TransactionState.UNDECIDED
    return TransactionState.ABORTED if header.producer_id in aborting else TransactionState.COMMITTED


def _records(
    topic: str, partition: int, header: BatchHeader, opened: list[Record], state: TransactionState, from_offset: int
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
    for each in opened:
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
