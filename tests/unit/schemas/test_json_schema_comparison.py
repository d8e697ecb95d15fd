"""Changes of JSON Schemas, each with its name and its verdict under both policies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.json_schema.changes import LENIENT, STRICT
from barnabas.schemas.json_schema.comparison import changes_between
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.json_schema.parsing import nodes_of
from barnabas.schemas.schema import Policy, ResolvedReference

TEXT, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def text(**limits: Any) -> dict[str, Any]:
    return {**TEXT, **limits}


def number(**limits: Any) -> dict[str, Any]:
    return {**NUMBER, **limits}


def obj(*required: str, more: Any = None, **properties: Any) -> dict[str, Any]:
    """An object; ``more`` is ``additionalProperties``."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    if more is not None:
        schema["additionalProperties"] = more
    return schema


def array(*items: Any, more: Any = None, **limits: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", **limits}
    if items:
        schema["items"] = list(items)
    if more is not None:
        schema["additionalItems"] = more
    return schema


OK, NO, LAX = "compatible", "incompatible", "only lenient"
# claim, old, new, the change that decides, verdict
CASES: list[tuple[str, Any, Any, str, str]] = [
    ("title", {"title": "a"}, {"title": "b"}, "TITLE_CHANGED", OK),
    ("description", {"description": "a"}, {}, "DESCRIPTION_CHANGED", OK),
    ("id", {"$id": "http://a"}, {"$id": "http://b"}, "ID_CHANGED", OK),
    ("default", text(default="a"), text(default="b"), "DEFAULT_CHANGED", OK),
    ("string to number", TEXT, NUMBER, "TYPE_CHANGED", NO),
    ("object to array", {"type": "object"}, {"type": "array"}, "TYPE_CHANGED", NO),
    ("boolean to null", {"type": "boolean"}, {"type": "null"}, "TYPE_CHANGED", NO),
    ("integer to number", INTEGER, NUMBER, "TYPE_EXTENDED", OK),
    ("number to integer", NUMBER, INTEGER, "TYPE_NARROWED", NO),
    ("maxLength added", TEXT, text(maxLength=5), "MAX_LENGTH_ADDED", NO),
    ("maxLength removed", text(maxLength=5), TEXT, "MAX_LENGTH_REMOVED", OK),
    ("maxLength increased", text(maxLength=5), text(maxLength=6), "MAX_LENGTH_INCREASED", OK),
    ("maxLength decreased", text(maxLength=6), text(maxLength=5), "MAX_LENGTH_DECREASED", NO),
    ("minLength added", TEXT, text(minLength=1), "MIN_LENGTH_ADDED", NO),
    ("minLength removed", text(minLength=1), TEXT, "MIN_LENGTH_REMOVED", OK),
    ("minLength increased", text(minLength=1), text(minLength=2), "MIN_LENGTH_INCREASED", NO),
    ("minLength decreased", text(minLength=2), text(minLength=1), "MIN_LENGTH_DECREASED", OK),
    ("pattern added", TEXT, text(pattern="a"), "PATTERN_ADDED", NO),
    ("pattern removed", text(pattern="a"), TEXT, "PATTERN_REMOVED", OK),
    ("pattern changed", text(pattern="a"), text(pattern="b"), "PATTERN_CHANGED", NO),
    ("maximum added", NUMBER, number(maximum=1), "MAXIMUM_ADDED", NO),
    ("maximum removed", number(maximum=1), NUMBER, "MAXIMUM_REMOVED", OK),
    ("maximum increased", number(maximum=1), number(maximum=2), "MAXIMUM_INCREASED", OK),
    ("maximum decreased", number(maximum=2), number(maximum=1), "MAXIMUM_DECREASED", NO),
    ("minimum added", NUMBER, number(minimum=1), "MINIMUM_ADDED", NO),
    ("minimum removed", number(minimum=1), NUMBER, "MINIMUM_REMOVED", OK),
    ("minimum increased", number(minimum=1), number(minimum=2), "MINIMUM_INCREASED", NO),
    ("minimum decreased", number(minimum=2), number(minimum=1.5), "MINIMUM_DECREASED", OK),
    ("exclusiveMaximum added", NUMBER, number(exclusiveMaximum=1), "EXCLUSIVE_MAXIMUM_ADDED", NO),
    ("exclusiveMaximum removed", number(exclusiveMaximum=1), NUMBER, "EXCLUSIVE_MAXIMUM_REMOVED", OK),
    ("exclusiveMaximum increased", number(exclusiveMaximum=1), number(exclusiveMaximum=2), "EXCLUSIVE_MAXIMUM_INCREASED", OK),
    ("exclusiveMaximum decreased", number(exclusiveMaximum=2), number(exclusiveMaximum=1), "EXCLUSIVE_MAXIMUM_DECREASED", NO),
    ("exclusiveMinimum added", NUMBER, number(exclusiveMinimum=1), "EXCLUSIVE_MINIMUM_ADDED", NO),
    ("exclusiveMinimum removed", number(exclusiveMinimum=1), NUMBER, "EXCLUSIVE_MINIMUM_REMOVED", OK),
    ("exclusiveMinimum increased", number(exclusiveMinimum=1), number(exclusiveMinimum=2), "EXCLUSIVE_MINIMUM_INCREASED", NO),
    ("exclusiveMinimum decreased", number(exclusiveMinimum=2), number(exclusiveMinimum=1), "EXCLUSIVE_MINIMUM_DECREASED", OK),
    ("multipleOf added", NUMBER, number(multipleOf=2), "MULTIPLE_OF_ADDED", NO),
    ("multipleOf removed", number(multipleOf=2), NUMBER, "MULTIPLE_OF_REMOVED", OK),
    ("multipleOf reduced", number(multipleOf=10), number(multipleOf=5), "MULTIPLE_OF_REDUCED", OK),
    ("multipleOf expanded", number(multipleOf=5), number(multipleOf=10), "MULTIPLE_OF_EXPANDED", NO),
    ("multipleOf changed", number(multipleOf=5), number(multipleOf=7), "MULTIPLE_OF_CHANGED", NO),
    ("multipleOf of fractions", number(multipleOf=0.2), number(multipleOf=0.1), "MULTIPLE_OF_REDUCED", OK),
    ("attribute required", obj(a=TEXT), obj("a", a=TEXT), "REQUIRED_ATTRIBUTE_ADDED", NO),
    ("attribute with default required", obj(a=TEXT), obj("a", a=text(default="")), "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED", OK),
    ("attribute optional", obj("a", a=TEXT), obj(a=TEXT), "REQUIRED_ATTRIBUTE_REMOVED", OK),
    ("maxProperties added", obj(), {**obj(), "maxProperties": 1}, "MAX_PROPERTIES_ADDED", NO),
    ("maxProperties removed", {**obj(), "maxProperties": 1}, obj(), "MAX_PROPERTIES_REMOVED", OK),
    ("maxProperties increased", {**obj(), "maxProperties": 1}, {**obj(), "maxProperties": 2}, "MAX_PROPERTIES_INCREASED", OK),
    ("maxProperties decreased", {**obj(), "maxProperties": 2}, {**obj(), "maxProperties": 1}, "MAX_PROPERTIES_DECREASED", NO),
    ("minProperties added", obj(), {**obj(), "minProperties": 1}, "MIN_PROPERTIES_ADDED", NO),
    ("minProperties removed", {**obj(), "minProperties": 1}, obj(), "MIN_PROPERTIES_REMOVED", OK),
    ("minProperties increased", {**obj(), "minProperties": 1}, {**obj(), "minProperties": 2}, "MIN_PROPERTIES_INCREASED", NO),
    ("minProperties decreased", {**obj(), "minProperties": 2}, {**obj(), "minProperties": 1}, "MIN_PROPERTIES_DECREASED", OK),
    ("additionalProperties opened", obj(more=False), obj(), "ADDITIONAL_PROPERTIES_ADDED", OK),
    ("additionalProperties closed", obj(), obj(more=False), "ADDITIONAL_PROPERTIES_REMOVED", LAX),
    ("additionalProperties narrowed", obj(), obj(more=TEXT), "ADDITIONAL_PROPERTIES_NARROWED", LAX),
    ("additionalProperties extended", obj(more=TEXT), obj(), "ADDITIONAL_PROPERTIES_EXTENDED", OK),
    ("additionalProperties changed", obj(more=TEXT), obj(more=NUMBER), "TYPE_CHANGED", NO),
    ("optional to open", obj(), obj(a=TEXT), "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", LAX),
    ("required to open", obj(), obj("a", a=TEXT), "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", NO),
    (
        "required with default to open",
        obj(),
        obj("a", a=text(default="")),
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        LAX,
    ),
    ("empty to open", obj(), obj(a={}), "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL", OK),
    ("optional to closed", obj(more=False), obj(more=False, a=TEXT), "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", OK),
    ("required to closed", obj(more=False), obj("a", more=False, a=TEXT), "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", NO),
    (
        "required with default to closed",
        obj(more=False),
        obj("a", more=False, a=text(default="")),
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL",
        OK,
    ),
    ("removed from open", obj(a=TEXT), obj(), "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL", OK),
    ("removed from closed", obj(more=False, a=TEXT), obj(more=False), "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", LAX),
    (
        "false removed from closed",
        obj(more=False, a=False),
        obj(more=False),
        "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        OK,
    ),
    ("added and covered", obj(more=TEXT), obj(more=TEXT, a=TEXT), "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", OK),
    ("added and not covered", obj(more=TEXT), obj(more=TEXT, a=NUMBER), "TYPE_CHANGED", NO),
    (
        "removed and covered",
        obj(more=TEXT, a=TEXT),
        obj(more=TEXT),
        "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        OK,
    ),
    ("removed and not covered", obj(more=TEXT, a=NUMBER), obj(more=TEXT), "TYPE_CHANGED", NO),
    (
        "added and covered by a pattern",
        {**obj(more=False), "patternProperties": {"^a": TEXT}},
        {**obj(more=False, ab=TEXT), "patternProperties": {"^a": TEXT}},
        "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        OK,
    ),
    ("unevaluated closed", obj(), {**obj(), "unevaluatedProperties": False}, "UNEVALUATED_PROPERTIES_REMOVED", LAX),
    ("unevaluated opened", {**obj(), "unevaluatedProperties": False}, obj(), "UNEVALUATED_PROPERTIES_ADDED", OK),
    ("unevaluated narrowed", obj(), {**obj(), "unevaluatedProperties": TEXT}, "UNEVALUATED_PROPERTIES_NARROWED", LAX),
    ("unevaluated extended", {**obj(), "unevaluatedProperties": TEXT}, obj(), "UNEVALUATED_PROPERTIES_EXTENDED", OK),
    ("dependency added", obj(a=TEXT), {**obj(a=TEXT), "dependencies": {"a": ["b"]}}, "DEPENDENCY_ARRAY_ADDED", NO),
    ("dependency removed", {**obj(a=TEXT), "dependencies": {"a": ["b"]}}, obj(a=TEXT), "DEPENDENCY_ARRAY_REMOVED", OK),
    (
        "dependency extended",
        {**obj(), "dependencies": {"a": ["b"]}},
        {**obj(), "dependencies": {"a": ["b", "c"]}},
        "DEPENDENCY_ARRAY_EXTENDED",
        NO,
    ),
    (
        "dependency narrowed",
        {**obj(), "dependentRequired": {"a": ["b", "c"]}},
        {**obj(), "dependentRequired": {"a": ["b"]}},
        "DEPENDENCY_ARRAY_NARROWED",
        OK,
    ),
    (
        "dependency changed",
        {**obj(), "dependencies": {"a": ["b"]}},
        {**obj(), "dependencies": {"a": ["c"]}},
        "DEPENDENCY_ARRAY_CHANGED",
        NO,
    ),
    ("schema dependency added", obj(), {**obj(), "dependentSchemas": {"a": obj()}}, "DEPENDENCY_SCHEMA_ADDED", NO),
    ("schema dependency removed", {**obj(), "dependencies": {"a": obj()}}, obj(), "DEPENDENCY_SCHEMA_REMOVED", OK),
    ("maxItems added", array(), array(maxItems=1), "MAX_ITEMS_ADDED", NO),
    ("maxItems removed", array(maxItems=1), array(), "MAX_ITEMS_REMOVED", OK),
    ("maxItems increased", array(maxItems=1), array(maxItems=2), "MAX_ITEMS_INCREASED", OK),
    ("maxItems decreased", array(maxItems=2), array(maxItems=1), "MAX_ITEMS_DECREASED", NO),
    ("minItems added", array(), array(minItems=1), "MIN_ITEMS_ADDED", NO),
    ("minItems removed", array(minItems=1), array(), "MIN_ITEMS_REMOVED", OK),
    ("minItems increased", array(minItems=1), array(minItems=2), "MIN_ITEMS_INCREASED", NO),
    ("minItems decreased", array(minItems=2), array(minItems=1), "MIN_ITEMS_DECREASED", OK),
    ("uniqueItems added", array(), array(uniqueItems=True), "UNIQUE_ITEMS_ADDED", NO),
    ("uniqueItems removed", array(uniqueItems=True), array(), "UNIQUE_ITEMS_REMOVED", OK),
    ("maxContains added", array(), array(maxContains=1), "MAX_CONTAINS_ADDED", NO),
    ("maxContains removed", array(maxContains=1), array(), "MAX_CONTAINS_REMOVED", OK),
    ("maxContains increased", array(maxContains=1), array(maxContains=2), "MAX_CONTAINS_INCREASED", OK),
    ("maxContains decreased", array(maxContains=2), array(maxContains=1), "MAX_CONTAINS_DECREASED", NO),
    ("minContains added", array(), array(minContains=1), "MIN_CONTAINS_ADDED", NO),
    ("minContains removed", array(minContains=1), array(), "MIN_CONTAINS_REMOVED", OK),
    ("minContains increased", array(minContains=1), array(minContains=2), "MIN_CONTAINS_INCREASED", NO),
    ("minContains decreased", array(minContains=2), array(minContains=1), "MIN_CONTAINS_DECREASED", OK),
    ("items of another type", {"type": "array", "items": TEXT}, {"type": "array", "items": NUMBER}, "TYPE_CHANGED", NO),
    ("items described", {"type": "array"}, {"type": "array", "items": NUMBER}, "SCHEMA_ADDED", NO),
    ("items no longer described", {"type": "array", "items": NUMBER}, {"type": "array"}, "SCHEMA_REMOVED", OK),
    ("additionalItems closed", array(TEXT), array(TEXT, more=False), "ADDITIONAL_ITEMS_REMOVED", NO),
    ("additionalItems opened", array(TEXT, more=False), array(TEXT), "ADDITIONAL_ITEMS_ADDED", OK),
    ("additionalItems narrowed", array(TEXT), array(TEXT, more=TEXT), "ADDITIONAL_ITEMS_NARROWED", NO),
    ("additionalItems extended", array(TEXT, more=TEXT), array(TEXT), "ADDITIONAL_ITEMS_EXTENDED", OK),
    ("unevaluatedItems closed", array(), array(unevaluatedItems=False), "UNEVALUATED_ITEMS_REMOVED", NO),
    ("unevaluatedItems opened", array(unevaluatedItems=False), array(), "UNEVALUATED_ITEMS_ADDED", OK),
    ("item to open", array(TEXT), array(TEXT, TEXT), "ITEM_ADDED_TO_OPEN_CONTENT_MODEL", NO),
    ("empty item to open", array(TEXT), array(TEXT, {}), "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL", OK),
    ("item to closed", array(TEXT, more=False), array(TEXT, TEXT, more=False), "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", OK),
    ("item removed from open", array(TEXT, TEXT), array(TEXT), "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL", OK),
    ("item removed from closed", array(TEXT, TEXT, more=False), array(TEXT, more=False), "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", NO),
    (
        "false item removed from closed",
        array(TEXT, False, more=False),
        array(TEXT, more=False),
        "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        OK,
    ),
    (
        "item added and covered",
        array(TEXT, more=TEXT),
        array(TEXT, TEXT, more=TEXT),
        "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        OK,
    ),
    (
        "item removed and covered",
        array(TEXT, TEXT, more=TEXT),
        array(TEXT, more=TEXT),
        "ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        OK,
    ),
    ("enum extended", {"enum": [1]}, {"enum": [1, 2]}, "ENUM_ARRAY_EXTENDED", OK),
    ("enum narrowed", {"enum": [1, 2]}, {"enum": [1]}, "ENUM_ARRAY_NARROWED", NO),
    ("enum changed", {"enum": [1]}, {"enum": [2]}, "ENUM_ARRAY_CHANGED", NO),
    ("const changed", {"const": 1}, {"const": 2}, "ENUM_ARRAY_CHANGED", NO),
    ("oneOf extended", {"oneOf": [TEXT, NUMBER]}, {"oneOf": [TEXT, NUMBER, {"type": "null"}]}, "SUM_TYPE_EXTENDED", OK),
    ("anyOf narrowed", {"anyOf": [TEXT, NUMBER, {"type": "null"}]}, {"anyOf": [TEXT, NUMBER]}, "SUM_TYPE_NARROWED", NO),
    (
        "allOf extended",
        {"allOf": [TEXT, text(maxLength=5)]},
        {"allOf": [TEXT, text(maxLength=5), text(minLength=1)]},
        "PRODUCT_TYPE_EXTENDED",
        NO,
    ),
    (
        "allOf narrowed",
        {"allOf": [TEXT, text(maxLength=5), text(minLength=1)]},
        {"allOf": [TEXT, text(maxLength=5)]},
        "PRODUCT_TYPE_NARROWED",
        OK,
    ),
    ("oneOf to anyOf", {"oneOf": [TEXT, NUMBER]}, {"anyOf": [TEXT, NUMBER]}, "COMBINED_TYPE_EXTENDED", OK),
    ("anyOf to allOf", {"anyOf": [TEXT, NUMBER]}, {"allOf": [TEXT, NUMBER]}, "COMBINED_TYPE_CHANGED", NO),
    (
        "branches exchanged",
        {"oneOf": [TEXT, NUMBER]},
        {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
        NO,
    ),
    ("type to union", TEXT, {"type": ["string", "null"]}, "SUM_TYPE_EXTENDED", OK),
    ("union to type", {"type": ["string", "null"]}, TEXT, "TYPE_CHANGED", NO),
    ("not narrowed", {"not": TEXT}, {"not": text(maxLength=5)}, "NOT_TYPE_NARROWED", OK),
    ("not extended", {"not": text(maxLength=5)}, {"not": TEXT}, "NOT_TYPE_EXTENDED", NO),
]


@pytest.mark.parametrize(("old", "new", "kind", "verdict"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_change_has_its_name_and_its_verdict(old: Any, new: Any, kind: str, verdict: str) -> None:
    found = [change.kind for change in changes_between(nodes_of(old), nodes_of(new), STRICT)]
    assert kind in found
    assert set(found) <= STRICT if verdict == OK else not set(found) <= STRICT
    lenient = {change.kind for change in changes_between(nodes_of(old), nodes_of(new), LENIENT)}
    assert (lenient <= LENIENT) == (verdict != NO)


@pytest.mark.parametrize("schema", [case[1] for case in CASES] + [case[2] for case in CASES])
def test_a_schema_is_compatible_with_itself(schema: Any) -> None:
    assert changes_between(nodes_of(schema), nodes_of(json.loads(json.dumps(schema))), STRICT) in (
        [],
        changes_between(nodes_of(schema), nodes_of(schema), STRICT),
    )
    assert {change.kind for change in changes_between(nodes_of(schema), nodes_of(schema), STRICT)} <= STRICT


@pytest.mark.parametrize("schema", [TEXT, NUMBER, obj(a=TEXT), array(TEXT), {"enum": [1]}, {"oneOf": [TEXT, NUMBER]}])
def test_everything_may_become_anything_and_nothing_may_become_everything(schema: Any) -> None:
    assert {change.kind for change in changes_between(nodes_of(schema), nodes_of({}), STRICT)} <= STRICT
    assert changes_between(nodes_of(False), nodes_of(schema), STRICT) in ([], [("SUM_TYPE_EXTENDED", ())])


def test_a_change_inside_definitions_is_found_where_they_are_used() -> None:
    old = {"definitions": {"d": obj(x=TEXT)}, **obj(a={"$ref": "#/definitions/d"})}
    new = {"definitions": {"d": obj(x=NUMBER)}, **obj(a={"$ref": "#/definitions/d"})}
    (change,) = changes_between(nodes_of(old), nodes_of(new), STRICT)
    assert str(change) == "TYPE_CHANGED #/properties/a/properties/x"


def test_a_recursive_schema_is_compared_to_its_end() -> None:
    def tree(value: Any) -> dict[str, Any]:
        return {"$id": "tree", **obj(value=value, left={"$ref": "#"}, right={"$ref": "#"})}

    assert changes_between(nodes_of(tree(TEXT)), nodes_of(tree(TEXT)), STRICT) == []
    assert not {change.kind for change in changes_between(nodes_of(tree(TEXT)), nodes_of(tree(NUMBER)), STRICT)} <= STRICT


def test_an_incompatible_cycle_hides_behind_no_branch() -> None:
    """A pair that counts as compatible while it is compared must not make a branch fit for good."""

    def chain(value: Any) -> dict[str, Any]:
        link = obj(next={"oneOf": [{"$ref": "#/definitions/link"}, {"type": "null"}]}, value=value)
        return {"definitions": {"link": link}, "$ref": "#/definitions/link"}

    kinds = {change.kind for change in changes_between(nodes_of(chain(TEXT)), nodes_of(chain(NUMBER)), STRICT)}
    assert {"TYPE_CHANGED", "COMBINED_TYPE_SUBSCHEMAS_CHANGED"} <= kinds


def test_a_reference_to_another_document_is_followed() -> None:
    other = ResolvedReference("address.json", json.dumps(obj(street=TEXT)))
    old = JsonSchema.parse(json.dumps(obj(home={"$ref": "address.json"})), [other])
    narrower = ResolvedReference("address.json", json.dumps(obj(street=text(maxLength=9))))
    new = JsonSchema.parse(json.dumps(obj(home={"$ref": "address.json"})), [narrower])
    assert [difference.kind for difference in new.unreadable(old)] == ["MAX_LENGTH_ADDED"]
    assert [difference.kind for difference in new.unreadable(old, Policy.LENIENT)] == ["MAX_LENGTH_ADDED"]


@pytest.mark.parametrize("reference", ["http://example.org/a.json", "file:///etc/passwd", "../../etc/passwd", "#/nowhere", "other.json#/x"])
def test_a_reference_that_names_no_known_schema_is_refused_and_never_fetched(reference: str) -> None:
    with pytest.raises(InvalidSchema, match="never fetched"):
        nodes_of({"$ref": reference})


def test_references_in_a_circle_are_refused() -> None:
    with pytest.raises(InvalidSchema, match="circle"):
        nodes_of({"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"})


def test_a_deep_schema_is_refused_in_time() -> None:
    deep: Any = TEXT
    for _ in range(300):
        deep = {"type": "array", "items": deep}
    with pytest.raises(SchemaTooComplex):
        nodes_of(deep)


def test_a_pattern_that_would_backtrack_for_ever_ends_at_once() -> None:
    old = {**obj(more=False), "patternProperties": {"(a+)+$": TEXT}}
    new = {**obj(more=False, **{"a" * 40 + "b": TEXT}), "patternProperties": {"(a+)+$": TEXT}}
    assert changes_between(nodes_of(old), nodes_of(new), STRICT)


@pytest.mark.parametrize(
    "schema", [5, "text", [], {"type": "strin"}, {"type": 5}, {"properties": []}, {"required": {}}, {"oneOf": {}}, {"$ref": 5}]
)
def test_an_invalid_schema_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidSchema):
        nodes_of(schema)


def test_texts_differ_in_layout_and_the_normal_form_in_order_too() -> None:
    one, other = JsonSchema.parse('{"type": "string", "title": "ä"}'), JsonSchema.parse('{"title":"ä","type":"string"}')
    assert one.canonical == '{"type":"string","title":"ä"}'
    assert one.normalized == other.normalized == '{"title":"ä","type":"string"}'
    assert one.record_name == "ä"
