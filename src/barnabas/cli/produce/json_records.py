"""Records in JSON lines, as ``consume --json`` writes them.

The key, the value, the headers and the timestamp are taken over, the partition only with
``--keep-partition``. ``topic``, ``offset`` and ``timestamp_type`` say where a record came from, and
are dropped, and so are the schemas and errors of decoded records. All fields may be missing. A key
or value may also be an object or an array instead of text, which is sent as JSON without spaces; by
a schema it may be any JSON.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, NoReturn

from barnabas.cli.produce.draft import NO_DEFAULTS, Defaults, Draft, Headers
from barnabas.cli.registry_records.part_encoder import PartEncoder
from barnabas.cli.terminal.record_text import Notation, parse_bytes

_FIELDS = frozenset(
    {"topic", "partition", "offset", "timestamp", "timestamp_type", "key", "key_base64", "value", "value_base64", "headers"}
    # Of records that were decoded by a registry.
    | {"key_schema", "key_error", "value_schema", "value_error"}
)
_HEADER_FIELDS = frozenset({"name", "value", "value_base64"})
_PARTITION_MAX = 2**31 - 1
_TIMESTAMP_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class JsonNotation:
    """The notation of a record in a JSON line."""

    key_format: Notation = Notation.TEXT
    value_format: Notation = Notation.TEXT
    keep_partition: bool = False
    defaults: Defaults = NO_DEFAULTS
    key_encoder: PartEncoder | None = None
    value_encoder: PartEncoder | None = None

    def parse(self, line: bytes) -> Draft:
        """Raises ``ValueError`` with the problem of the line."""
        record = _object(line)
        defaults = self.defaults
        own_key = "key" in record or "key_base64" in record
        key = _part(record, "key", self.key_format, self.key_encoder) if own_key else defaults.key
        return Draft(
            key,
            _part(record, "value", self.value_format, self.value_encoder),
            [*defaults.headers, *_headers(record.get("headers"))],
            _whole(record, "timestamp", _TIMESTAMP_MAX, defaults.timestamp_ms),
            _whole(record, "partition", _PARTITION_MAX, defaults.partition) if self.keep_partition else defaults.partition,
        )


def _object(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at character {error.pos + 1})") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    if not isinstance(record, dict):
        raise ValueError("is not a JSON object")
    _check_fields(record, _FIELDS, "the unknown field")
    return record


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"has {word}, which is not JSON")


def _check_fields(found: dict[str, Any], known: frozenset[str], what: str) -> None:
    for name in found:
        if name not in known:
            hint = "; kcat's payload is value here" if name == "payload" else ""
            raise ValueError(f"has {what} {name!r}{hint}")
    for name in ("key", "value"):
        if name in found and f"{name}_base64" in found:
            raise ValueError(f"has both {name} and {name}_base64")


def _part(record: dict[str, Any], name: str, notation: Notation, encoder: PartEncoder | None) -> bytes | None:
    """Bytes in base64 are those of a record that could not be decoded: they are sent as they
    are."""
    if encoder is None or record.get(f"{name}_base64") is not None:
        return _bytes(record, name, notation)
    value = record.get(name)
    try:
        return None if value is None else encoder.of_json(value)
    except ValueError as error:
        raise ValueError(f"has a {name} that {error}") from error


def _bytes(record: dict[str, Any], name: str, notation: Notation = Notation.TEXT) -> bytes | None:
    encoded = record.get(f"{name}_base64")
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise ValueError(f"has a {name}_base64 that is not base64") from error
    match record.get(name):
        case None:
            return None
        case str(text):
            return _text(text, name, notation)
        case dict() | list() as nested:
            return _text(json.dumps(nested, ensure_ascii=False, separators=(",", ":")), name, Notation.TEXT)
        case other:
            raise ValueError(f"has the {name} {json.dumps(other)}, which is neither text, object, array nor null")


def _text(text: str, name: str, notation: Notation) -> bytes:
    try:
        return parse_bytes(text.encode("utf-8"), notation)
    except UnicodeEncodeError as error:
        raise ValueError(f"has a {name} with half a surrogate pair") from error
    except ValueError as error:
        raise ValueError(f"has a {name} that {error}") from error


def _headers(given: Any) -> Headers:
    if given is None:
        return []
    if not isinstance(given, list):
        raise ValueError('has headers that are no list of {"name": ..., "value": ...}')
    headers: Headers = []
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise ValueError('has a header that is not {"name": ..., "value": ...}')
        _check_fields(each, _HEADER_FIELDS, "a header with the unknown field")
        headers.append((each["name"], _bytes(each, "value")))
    return headers


def _whole(record: dict[str, Any], name: str, most: int, default: int) -> int:
    found = record.get(name)
    if found is None:
        return default
    if isinstance(found, bool) or not isinstance(found, int) or not -1 <= found <= most:
        raise ValueError(f"has the {name} {json.dumps(found)}, which is no whole number from 0 to {most}")
    # -1 is how Kafka says that a record has no timestamp.
    return default if found < 0 else found
