"""The difference between two schemas, and the schema after a change was accepted. None of this
needs Spark.
"""

from __future__ import annotations

from typing import Any

from barnabas.pipelines.schema_changes.columns import Added, Loosened, Removed, Retyped, breaking, changes, columns, ddl, describe
from barnabas.pipelines.schema_changes.endings import is_below
from barnabas.pipelines.schema_changes.merging import Presence, marked, merged, news


def struct(*fields: tuple[str, Any] | tuple[str, Any, bool]) -> dict[str, Any]:
    """Names and types, and True for required fields."""
    return {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": not rest, "metadata": {}} for name, kind, *rest in fields],
    }


def test_a_rename_is_a_removal_and_an_addition_and_only_the_removal_breaks() -> None:
    before = struct(("id", "long"), ("qty", "integer"), ("price", "double"), ("to", struct(("city", "string"))))
    after = struct(("quantity", "integer"), ("price", "string"), ("id", "long"), ("to", struct(("city", "string"), ("zip", "string"))))
    found = changes(before, after)
    assert found == (
        Removed("qty", "int"),
        Retyped("price", "double", "string"),
        Added("quantity", "int"),
        Added("to.zip", "string"),
    )
    assert breaking(found) == found[:2]
    assert describe(found[:3]) == "'qty' (int) is missing, 'price' is string and was double, 'quantity' (int) is new"
    assert changes(before, before) == ()
    assert changes(struct(("a", "long", True)), struct(("a", "long"))) == (Loosened("a"),)


def test_the_text_of_a_schema_keeps_odd_names_and_required_fields() -> None:
    nested = struct(("a b", "long", True), ("list", {"type": "array", "elementType": "integer", "containsNull": True}))
    schema = struct(("x`y", nested), ("m", {"type": "map", "keyType": "string", "valueType": "decimal(10,2)", "valueContainsNull": True}))
    assert ddl(schema) == "`x``y` struct<`a b`:bigint NOT NULL,`list`:array<int>>, `m` map<string,decimal(10,2)>"
    assert [each.name for each in columns(schema)] == ["x`y", "x`y.a b", "x`y.list", "m"]


def test_an_accepted_schema_drops_only_fields_that_every_record_had_and_none_has_now() -> None:
    known = struct(("id", "long", True), ("qty", "long", True), ("rare", "string"), ("price", "double", True))
    sampled = struct(("id", "long"), ("quantity", "long"), ("price", "long"))
    present = {"id": Presence(9, 9), "qty": Presence(9, 0), "rare": Presence(9, 0), "price": Presence(9, 8), "quantity": Presence(9, 9)}
    assert merged(known, sampled, present) == struct(
        ("id", "long", True), ("rare", "string"), ("price", "double"), ("quantity", "long", True)
    )
    # Without records, no field is known to be gone.
    assert merged(known, struct(), {name: Presence(0, 0) for name in present}) == known


def test_an_accepted_schema_takes_new_types_only_where_values_do_not_fit() -> None:
    def accepted(known: Any, sampled: Any) -> Any:
        return merged(struct(("a", known)), struct(("a", sampled)), {})["fields"][0]["type"]

    assert accepted("double", "long") == "double"
    assert accepted("long", "double") == "double"
    assert accepted("string", "long") == "string"
    assert accepted("boolean", "long") == "long"
    array = {"type": "array", "elementType": "double", "containsNull": True}
    assert accepted(array, {**array, "elementType": "long"}) == array
    assert accepted(array, {**array, "elementType": "string"})["elementType"] == "string"
    assert accepted(struct(("x", "long")), struct(("y", "long"))) == struct(("x", "long"), ("y", "long"))
    assert accepted(struct(("x", "long")), "string") == "string"


def test_news_are_the_unknown_columns_that_are_wanted() -> None:
    schema = struct(("id", "long"), ("qty", "long"), ("note", "string"), ("to", struct(("city", "string"), ("zip", "string"))))
    found = news(schema, {"id", "to", "to.city"}, lambda name: name != "qty")
    assert found == struct(("note", "string"), ("to", struct(("zip", "string"))))
    assert news(schema, {each.name for each in columns(schema)}, lambda _: True) == struct()


def test_a_field_is_required_when_every_object_that_could_have_it_does() -> None:
    schema = struct(("id", "long"), ("to", struct(("city", "string"), ("zip", "string"))))
    present = {"id": Presence(3, 3), "to": Presence(3, 2), "to.city": Presence(2, 2), "to.zip": Presence(2, 1)}
    assert marked(schema, present) == struct(("id", "long", True), ("to", struct(("city", "string", True), ("zip", "string"))))


def test_a_file_belongs_to_the_folder_it_is_below() -> None:
    assert is_below("/in/a/1.csv", "/in/*/")
    assert is_below("/in/1.csv", "file:///in")
    assert is_below("s3a://bucket/in/1.csv", "s3a://bucket/in")
    assert not is_below("/other/1.csv", "/in")
    assert not is_below("/in2/1.csv", "/in")
