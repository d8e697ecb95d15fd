"""Keys and values as a person types them, and lines of a file of records. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from barnabas.console.errors import BadValue

FORMATS: Final = ("text", "json", "hex", "base64", "null", "schema")
# Records in one file or form; a file of a million lines is a job for `barnabas produce`.
RECORDS_MAX: Final = 10_000
HEADERS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class NewRecord:
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None = None


def read_bytes(text: str, format_name: str, parameter: str) -> bytes | None:
    """``schema`` is not read here: it needs a registry."""
    match format_name:
        case "null":
            return None
        case "json":
            try:
                # Printed on one line, as programs write it.
                return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).encode()
            except (ValueError, RecursionError) as error:
                raise BadValue(f"{parameter} is no JSON: {error}.", parameter) from None
        case "hex":
            try:
                return bytes.fromhex(text.replace("0x", "").replace(":", ""))
            except ValueError:
                raise BadValue(f"{parameter} is no hex.", parameter) from None
        case "base64":
            try:
                return base64.b64decode("".join(text.split()), validate=True)
            except (ValueError, binascii.Error):
                raise BadValue(f"{parameter} is no base64.", parameter) from None
    return text.encode("utf-8", "surrogatepass")


def read_headers(text: str) -> list[tuple[str, bytes | None]]:
    """Lines of ``name=value``; a name alone has the value null."""
    headers: list[tuple[str, bytes | None]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        headers.append((name.strip(), value.strip().encode() if equals else None))
    if len(headers) > HEADERS_MAX:
        raise BadValue(f"A record has at most {HEADERS_MAX} headers here.", "headers")
    return headers


def read_lines(text: str) -> Iterator[NewRecord]:
    """Lines of JSON, as an export writes them: key, value, headers and partition. ``key_base64``
    and ``value_base64`` are bytes. Raises :class:`BadValue` with the number of the line."""
    count = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        count += 1
        if count > RECORDS_MAX:
            raise BadValue(f"A file has at most {RECORDS_MAX} records; use barnabas produce for more.", "file")
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            raise BadValue(f"Line {number} is no JSON.", "file") from None
        if not isinstance(read, dict):
            raise BadValue(f"Line {number} is no JSON object.", "file")
        yield _line(read, number)


def _line(read: dict[str, Any], number: int) -> NewRecord:
    headers = read.get("headers") or {}
    pairs = headers.items() if isinstance(headers, dict) else None
    if pairs is None or not all(isinstance(value, str | None) for _, value in pairs):
        raise BadValue(f"Line {number}: headers are an object of texts.", "file")
    partition = read.get("partition")
    if partition is not None and (not isinstance(partition, int) or isinstance(partition, bool) or partition < 0):
        raise BadValue(f"Line {number}: partition is a number.", "file")
    return NewRecord(
        _field(read, "key", number),
        _field(read, "value", number),
        [(name, value.encode() if value is not None else None) for name, value in pairs],
        partition,
    )


def _field(read: dict[str, Any], name: str, number: int) -> bytes | None:
    if (encoded := read.get(f"{name}_base64")) is not None:
        try:
            return base64.b64decode(str(encoded), validate=True)
        except (ValueError, binascii.Error):
            raise BadValue(f"Line {number}: {name}_base64 is no base64.", "file") from None
    value = read.get(name)
    if value is None or isinstance(value, str):
        return None if value is None else value.encode("utf-8", "surrogatepass")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
