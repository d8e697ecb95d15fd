"""Records that are decoded, for pages and for filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.console.access.record_decoder import RecordDecoder
from barnabas.console.core.decoding.detection import LISTED_CHARACTERS_MAX, Decoded, decode
from barnabas.console.core.decoding.safe_text import cut
from barnabas.console.core.record import BatchFacts, ReadRecord, TransactionState

# Headers of one record that are shown.
HEADERS_SHOWN_MAX: Final = 100
HEADER_CHARACTERS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class ShownHeader:
    name: str
    value: Decoded


@dataclass(frozen=True, slots=True)
class ShownRecord:
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Decoded
    value: Decoded
    headers: list[ShownHeader]
    headers_total: int
    transaction: TransactionState
    control: str | None
    batch: BatchFacts
    is_tombstone: bool
    _read: ReadRecord = field(repr=False)


def shown(
    record: ReadRecord, decoder: RecordDecoder, *, characters_max: int = LISTED_CHARACTERS_MAX, indent: int | None = None
) -> ShownRecord:
    headers = [
        ShownHeader(cut(name, HEADER_CHARACTERS_MAX).text, decode(value, characters_max=HEADER_CHARACTERS_MAX))
        for name, value in record.headers[:HEADERS_SHOWN_MAX]
    ]
    if record.control is not None:
        # The key of a control record is a type, which has a word already.
        key, value = decode(None), decode(None)
    else:
        key = decoder.key(record, characters_max=characters_max, indent=indent)
        value = decoder.value(record, characters_max=characters_max, indent=indent)
    return ShownRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        key,
        value,
        headers,
        len(record.headers),
        record.transaction,
        record.control,
        record.batch,
        record.value is None and record.control is None,
        record,
    )


class FilteredRecord:
    """A record as a filter sees it; decoded at most once, and only if the filter looks inside."""

    __slots__ = ("_decoder", "_key", "_record", "_value", "offset", "partition", "timestamp", "topic")

    def __init__(self, record: ReadRecord, decoder: RecordDecoder) -> None:
        self._record, self._decoder = record, decoder
        self.topic, self.partition, self.offset, self.timestamp = record.topic, record.partition, record.offset, record.timestamp
        self._key: Decoded | None = None
        self._value: Decoded | None = None

    @property
    def key_bytes(self) -> bytes | None:
        return self._record.key

    def key_text(self) -> str | None:
        return _text(self._record.key)

    def value_text(self) -> str | None:
        return _text(self._record.value)

    def key(self) -> Any:
        if self._key is None:
            self._key = self._decoder.key(self._record, characters_max=0)
        return self._key.value

    def value(self) -> Any:
        if self._value is None:
            self._value = self._decoder.value(self._record, characters_max=0)
        return self._value.value

    def header(self, name: str) -> str | None:
        return _text(next((value for each, value in reversed(self._record.headers) if each == name), None))

    def has_headers(self) -> bool:
        return bool(self._record.headers)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
