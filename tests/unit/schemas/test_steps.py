"""Work on hostile schemas is counted in steps, and the count is bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.schemas.errors import InvalidSchema, OutOfSteps
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import SchemaType
from barnabas.schemas.steps import Steps


def compared(old: Any, new: Any, kind: SchemaType = SchemaType.JSON, steps_max: int = 50_000) -> tuple[list[str], int]:
    """The kinds of differences, and the steps that the comparison took."""
    steps = Steps(steps_max)
    before, after = (parse_schema(kind, json.dumps(each)) for each in (old, new))
    return [each.kind for each in after.unreadable(before, steps=steps)], steps.taken


def mutual(count: int, **changed: Any) -> dict[str, Any]:
    properties = {f"p{number}": {"$ref": f"#/definitions/d{number}"} for number in range(count)}
    definitions = {f"d{number}": {"type": "object", "properties": properties} for number in range(count)}
    definitions["d7"].update(changed)
    return {"definitions": definitions, "properties": properties}


def test_steps_end_with_the_limit() -> None:
    steps = Steps(3)
    steps.take(3)
    with pytest.raises(OutOfSteps, match="more than 3 steps"):
        steps.take()


def test_definitions_that_refer_to_each_other_take_few_steps() -> None:
    kinds, steps = compared(mutual(40), mutual(40, required=["p1"]))
    assert "REQUIRED_ATTRIBUTE_ADDED" in kinds
    assert steps < 1_000


def test_values_of_enumerations_are_compared_in_linear_steps() -> None:
    kinds, steps = compared({"enum": list(range(20_000))}, {"enum": list(range(1, 20_000))})
    assert kinds == ["ENUM_ARRAY_NARROWED"]
    assert 1_000 < steps < 5_000


def test_values_of_other_types_are_other_values() -> None:
    assert compared({"enum": [1]}, {"enum": [True]})[0] == ["ENUM_ARRAY_CHANGED"]
    assert compared({"enum": [{"a": 1, "b": [2]}]}, {"enum": [{"b": [2], "a": 1}, None]})[0] == []


def test_every_pattern_that_is_matched_with_a_name_is_a_step() -> None:
    old = {"type": "object", "additionalProperties": False, "patternProperties": {f"^a{number}$": {} for number in range(200)}}
    new = {**old, "properties": {f"z{number}": {} for number in range(200)}}
    assert compared(old, new)[1] > 200 * 200
    with pytest.raises(OutOfSteps):
        compared(old, new, steps_max=4_000)


def test_wide_unions_and_messages_run_out_of_steps() -> None:
    old, new = ([{"type": "record", "name": f"{letter}{number}", "fields": []} for number in range(300)] for letter in "RS")
    with pytest.raises(OutOfSteps):
        compared(old, new, kind=SchemaType.AVRO)


def test_a_repeated_name_is_found_in_linear_time() -> None:
    names = ",".join(f'"n{number}":1' for number in range(60_000))
    with pytest.raises(InvalidSchema, match="'n59999' stands twice"):
        parse_schema(SchemaType.JSON, f'{{{names},"n59999":2}}')
