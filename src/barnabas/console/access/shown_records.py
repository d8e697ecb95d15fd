"""Records that are decoded, for pages and for filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.console.access.schema_decoding import SchemaDecoding
from barnabas.console.core.decoding.detection import LISTED_CHARACTERS_MAX, Decoded, decode
from barnabas.console.core.decoding.safe_text import cut
from barnabas.console.core.record import BatchFacts, ReadRecord, TransactionState

_KEY_HEADER: Final = "__key_schema_id"
_VALUE_HEADER: Final = "__value_schema_id"
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
    record: ReadRecord,
    schemas: SchemaDecoding,
    *,
    characters_max: int = LISTED_CHARACTERS_MAX,
    key_format: str = "auto",
    value_format: str = "auto",
    indent: int | None = None,
) -> ShownRecord:
    by_name = dict(record.headers)
    headers = [
        ShownHeader(cut(name, HEADER_CHARACTERS_MAX).text, decode(value, characters_max=HEADER_CHARACTERS_MAX))
        for name, value in record.headers[:HEADERS_SHOWN_MAX]
    ]
    if record.control is not None:
        # The key of a control record is a type, which has a word already.
        key, value = decode(None), decode(None)
    else:
        key = decoded(record.key, schemas, by_name.get(_KEY_HEADER), characters_max, key_format, indent)
        value = decoded(record.value, schemas, by_name.get(_VALUE_HEADER), characters_max, value_format, indent)
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


def decoded(
    data: bytes | None, schemas: SchemaDecoding, header: bytes | None, characters_max: int, wanted: str, indent: int | None = None
) -> Decoded:
    schema, problem = schemas.decode(data, header) if wanted == "auto" else (None, None)
    return decode(data, characters_max=characters_max, schema=schema, problem=problem, wanted=wanted, indent=indent)


class FilteredRecord:
    """A record as a filter sees it; decoded at most once, and only if the filter looks inside."""

    __slots__ = ("_key", "_record", "_schemas", "_value", "offset", "partition", "timestamp", "topic")

    def __init__(self, record: ReadRecord, schemas: SchemaDecoding) -> None:
        self._record, self._schemas = record, schemas
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
            self._key = decoded(self._record.key, self._schemas, dict(self._record.headers).get(_KEY_HEADER), 0, "auto")
        return self._key.value

    def value(self) -> Any:
        if self._value is None:
            self._value = decoded(self._record.value, self._schemas, dict(self._record.headers).get(_VALUE_HEADER), 0, "auto")
        return self._value.value

    def header(self, name: str) -> str | None:
        return _text(next((value for each, value in reversed(self._record.headers) if each == name), None))

    def has_headers(self) -> bool:
        return bool(self._record.headers)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
