"""Subjects of a schema registry, their versions and references, as the pages show them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from barnabas.console.errors import BadValue

LEVELS: Final = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)
MODES: Final = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
TYPES: Final = ("AVRO", "JSON", "PROTOBUF")
# A reference is a line: the name, the subject and the version. Registries allow 500 and fewer.
REFERENCES_MAX: Final = 500
# Strategies that name subjects after topics add one of these, or a dash and the name of a record.
_OF_TOPIC: Final = ("-key", "-value")


@dataclass(frozen=True, slots=True)
class SubjectRow:
    name: str
    is_deleted: bool
    version: int | None = None
    """The latest one; None if the registry does not show it."""
    id: int | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    number: int
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class SchemaReference:
    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    subject: str
    version: int
    id: int | None
    type: str
    text: str
    """As the registry has it."""
    pretty: str
    """With a line for each field, where the type is JSON."""
    references: list[SchemaReference]


def pretty_schema(kind: str, text: str) -> str:
    """Avro and JSON Schema are JSON; one of several lines can be read and compared."""
    if kind == "PROTOBUF":
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def versions_of(all_numbers: Iterable[int], active: Iterable[int]) -> list[SubjectVersion]:
    """The newest first. ``all_numbers`` has soft-deleted versions too."""
    kept = frozenset(active)
    return [SubjectVersion(each, each not in kept) for each in sorted({*all_numbers, *kept}, reverse=True)]


def read_references(text: str) -> list[SchemaReference]:
    """Lines of ``NAME SUBJECT VERSION``; the name has no spaces, a subject may have some."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        words = line.split()
        if len(words) < 3 or not words[-1].isdecimal() or len(words[-1]) > 9:
            raise BadValue(f"A reference is a line with a name, a subject and a version, and not {line[:80]!r}.", "references")
        found.append(SchemaReference(words[0], " ".join(words[1:-1]), int(words[-1])))
    if len(found) > REFERENCES_MAX:
        raise BadValue(f"A schema has at most {REFERENCES_MAX} references.", "references")
    return found


def reference_lines(references: Iterable[SchemaReference]) -> str:
    return "\n".join(f"{each.name} {each.subject} {each.version}" for each in references)


def subjects_of_topic(topic: str, subjects: Iterable[str]) -> list[str]:
    """Subjects that strategies of serializers name after the topic: by topic first, then by topic
    and record. A subject of ``orders-eu`` also begins with ``orders-``, so a subject by record must
    name a record of a namespace: it has a dot behind the name of the topic."""
    names = list(subjects)
    by_topic = [topic + suffix for suffix in _OF_TOPIC if topic + suffix in names]
    by_record = [each for each in names if each.startswith(f"{topic}-") and "." in each[len(topic) + 1 :] and each not in by_topic]
    return by_topic + sorted(by_record)
