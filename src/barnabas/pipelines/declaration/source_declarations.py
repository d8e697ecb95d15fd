"""Sources as they are declared: the fields that all kinds share. A kind's own fields are declared
in its module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields
from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.format_declaration import FormatDeclaration, declare_format
from barnabas.pipelines.declaration.located import Located, Place
from barnabas.pipelines.sinks.topic import DEFAULT_GUARANTEE, GUARANTEES
from barnabas.pipelines.sources import SOURCES

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SCHEMA_CHANGES = ("stop", "accept")
_KEY_COLUMN = re.compile(r"\s*`?([A-Za-z_][A-Za-z0-9_]*)`?\s+(\S.*)")


@dataclass(frozen=True, slots=True)
class Watermark:
    """Records older than the latest one by more than ``delay`` may be dropped, and windows older
    than that are complete."""

    column: str
    delay: str


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A record's key as a column: its text, cast to ``type``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class DeadLetters:
    topic: str
    guarantee: str  # as for a sink that is a topic


@dataclass(frozen=True, slots=True)
class Decoding:
    format: FormatDeclaration
    key: KeyColumn | None
    tolerance: str  # none or all
    dead_letters: DeadLetters | None


@dataclass(frozen=True, slots=True)
class SourceDeclaration:
    name: str
    # The field that names the kind: topic, topics, pattern, table, jdbc, files, generator.
    kind: str
    place: Place
    declared: Located  # the values with the place of each
    settings: object  # made by the kind's module from its fields
    decoding: Decoding | None  # for kinds that read records
    watermark: Watermark | None
    schema_changes: str = "stop"  # or accept: the reaction when the source's columns change


def declare_source(name: str, found: Located, findings: Findings) -> SourceDeclaration | None:
    """None when it cannot be read; ``findings`` have the reason."""
    what = f"source {name!r}"
    check_name(name, what, found.place, findings)
    fields = Fields(found, what, findings)
    kind = fields.kind(SOURCES.names, "reads one of")
    if kind is None:
        return None
    decoding = _declare_decoding(fields) if SOURCES.constant(kind, "DECODES", False) else None
    watermark = _declare_watermark(fields)
    remembers = SOURCES.constant(kind, "REMEMBERS_SCHEMA", False)
    schema_changes = fields.choice("schema_changes", SCHEMA_CHANGES, default="stop") if remembers else "stop"
    settings = None
    with findings.collected():
        settings = SOURCES.of(kind).declare(fields)
        fields.end()
    return SourceDeclaration(name, kind, found.place, found, settings, decoding, watermark, schema_changes)


def check_name(name: str, what: str, place: Place, findings: Findings) -> None:
    """Names of views must be valid in SQL."""
    if NAME.fullmatch(name) is None:
        sentence = f"{what}: a name has letters, digits and underscores and begins with a letter, because SQL uses it."
        findings.report(place.error(sentence))


def declare_watermark(fields: Fields) -> Watermark:
    watermark = Watermark(fields.text("column"), f"{fields.duration_ms('delay', default=0)} milliseconds")
    fields.end()
    return watermark


def _declare_watermark(fields: Fields) -> Watermark | None:
    found = fields.optional_nested("watermark")
    return None if found is None else declare_watermark(found)


def _declare_decoding(fields: Fields) -> Decoding:
    declared = declare_format(fields)
    key = fields.optional_text("key")
    dead_letters = fields.optional_nested("dead_letters")
    topic = None
    if dead_letters is not None:
        topic = DeadLetters(dead_letters.topic("topic"), dead_letters.choice("guarantee", GUARANTEES, default=DEFAULT_GUARANTEE))
        dead_letters.end()
    tolerance = fields.choice("tolerance", ("none", "all"), default="none" if topic is None else "all")
    if topic is not None and tolerance == "none":
        fields.report(
            f"{fields.what} stops at the first bad record (tolerance: none), so nothing would reach its dead letters.", "tolerance"
        )
    return Decoding(declared, None if key is None else _key_column(key, fields), tolerance, topic)


def _key_column(text: str, fields: Fields) -> KeyColumn | None:
    match = _KEY_COLUMN.fullmatch(text)
    if match is None:
        fields.report(f"'key' of {fields.what} is a column and its type such as 'account STRING', not {text!r}.", "key")
        return None
    return KeyColumn(match[1], match[2].strip())
