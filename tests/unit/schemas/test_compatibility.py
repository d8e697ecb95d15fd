"""The levels of compatibility: direction, and how many versions count."""

from __future__ import annotations

import json

import pytest

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.compatibility import Level, breaches
from barnabas.schemas.json_schema.json_schema import JsonSchema


def record(*fields: str) -> AvroSchema:
    """Fields in capitals have a default."""
    described = [{"name": name.lower(), "type": "int"} | ({"default": 0} if name.isupper() else {}) for name in fields]
    return AvroSchema.parse(json.dumps({"type": "record", "name": "R", "fields": described}))


ADDED, ADDED_WITH_DEFAULT, REMOVED = (record("a"), record("a", "b")), (record("a"), record("a", "B")), (record("a", "b"), record("a"))


@pytest.mark.parametrize(
    ("level", "added", "added_with_default", "removed"),
    [
        (Level.NONE, True, True, True),
        (Level.BACKWARD, False, True, True),
        (Level.FORWARD, True, True, False),
        (Level.FULL, False, True, False),
    ],
)
def test_a_level_allows_changes_in_its_direction(level: Level, added: bool, added_with_default: bool, removed: bool) -> None:
    allowed = [not breaches(new, [old], level) for old, new in (ADDED, ADDED_WITH_DEFAULT, REMOVED)]
    assert allowed == [added, added_with_default, removed]


@pytest.mark.parametrize(
    ("level", "older", "new"),
    [
        (Level.BACKWARD, [record(), record("B")], record("b")),
        (Level.FORWARD, [record("a"), record("B")], record("b")),
        (Level.FULL, [record(), record("B")], record("b")),
    ],
)
def test_a_transitive_level_compares_all_versions_and_a_plain_one_the_latest(
    level: Level, older: list[AvroSchema], new: AvroSchema
) -> None:
    assert not breaches(new, older, level)
    found = breaches(new, older, Level(f"{level.value}_TRANSITIVE"))
    assert {breach.older for breach in found} == {0}


def test_another_type_of_schema_is_never_compatible() -> None:
    (breach,) = breaches(JsonSchema.parse("{}"), [record("a")], Level.BACKWARD)
    assert breach.difference.kind == "SCHEMA_TYPE_CHANGED"


def test_the_first_version_of_a_subject_is_always_compatible() -> None:
    assert breaches(record("a"), [], Level.FULL_TRANSITIVE) == []
