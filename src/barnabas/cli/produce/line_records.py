"""Records in lines: ``headers SEPARATOR key SEPARATOR value``, where only the value is required.

Headers are ``name=value,name=value``, as ``%h`` of ``consume --format`` prints them; a comma cannot
be part of one. JSON lines have no such limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cli.produce.draft import NO_DEFAULTS, Defaults, Draft, Headers
from barnabas.cli.registry_records.part_encoder import PartEncoder
from barnabas.cli.terminal.record_text import Notation, parse_bytes


@dataclass(frozen=True, slots=True)
class LineNotation:
    """The notation of a record in a line."""

    key_separator: bytes | None = None
    header_separator: bytes | None = None
    null_marker: bytes | None = None
    key_format: Notation = Notation.TEXT
    value_format: Notation = Notation.TEXT
    defaults: Defaults = NO_DEFAULTS
    key_encoder: PartEncoder | None = None
    value_encoder: PartEncoder | None = None

    def parse(self, line: bytes) -> Draft:
        """Raises ``ValueError`` with the problem of the line."""
        defaults = self.defaults
        headers, key = list(defaults.headers), defaults.key
        if self.header_separator is not None:
            text, line = _cut(line, self.header_separator, "header separator")
            headers += self._headers(text)
        if self.key_separator is not None:
            text, line = _cut(line, self.key_separator, "key separator")
            key = self._part("key", text, self.key_format, self.key_encoder)
        value = self._part("value", line, self.value_format, self.value_encoder)
        return Draft(key, value, headers, defaults.timestamp_ms, defaults.partition)

    def _headers(self, text: bytes) -> Headers:
        headers: Headers = []
        for each in text.split(b",") if text else ():
            name, equals, value = each.partition(b"=")
            if not equals:
                raise ValueError(f"has the header {_shown(each)} without =")
            try:
                headers.append((name.decode("utf-8"), None if value == self.null_marker else value))
            except UnicodeDecodeError as error:
                raise ValueError("has a header whose name is not UTF-8") from error
        return headers

    def _part(self, what: str, text: bytes, notation: Notation, encoder: PartEncoder | None) -> bytes | None:
        if self.null_marker is not None and text == self.null_marker:
            return None
        try:
            return encoder.of_text(text) if encoder is not None else parse_bytes(text, notation)
        except ValueError as error:
            raise ValueError(f"has a {what} that {error}") from error


def _cut(line: bytes, separator: bytes, what: str) -> tuple[bytes, bytes]:
    before, found, after = line.partition(separator)
    if not found:
        raise ValueError(f"has no {what} {_shown(separator)}")
    return before, after


def _shown(data: bytes) -> str:
    return repr(data.decode("utf-8", "backslashreplace"))
