"""Schemas that sinks make from their columns."""

from __future__ import annotations

import pytest

from barnabas.pipelines.column_types import Array, Map, Scalar, Struct, of_spark, spark_name, spark_schema
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered.columns import columns_of
from barnabas.pipelines.registered.derived import derived_schema, record_name
from barnabas.pipelines.registered.fitting import misfit
from barnabas.schemas.compatibility import Level, breaches
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, SchemaType

STRING, BIGINT = Scalar("string"), Scalar("bigint")
EVERYTHING = Struct(
    (
        ("flag", Scalar("boolean")),
        ("n", Scalar("int")),
        ("cents", BIGINT),
        ("share", Scalar("float")),
        ("rate", Scalar("double")),
        ("name", STRING),
        ("image", Scalar("binary")),
        ("day", Scalar("date")),
        ("at", Scalar("timestamp")),
        ("price", of_spark("decimal(9,2)")),
        ("tags", Array(STRING)),
        ("counts", Map(STRING, BIGINT)),
        ("place", Struct((("city", STRING), ("zip", STRING)))),
        ("lines", Array(Struct((("item", STRING), ("n", BIGINT))))),
    )
)
# What a format has no type of its own for.
WIDENED = {
    SchemaType.AVRO: {},
    SchemaType.JSON: {"n": "bigint", "share": "double", "image": "string"},
    SchemaType.PROTOBUF: {"day": "string", "price": "string"},
}


def derived(type_: SchemaType, columns: Struct, latest: ParsedSchema | None = None) -> ParsedSchema:
    return parse_schema(type_, derived_schema(type_, columns, "bank.Payment", latest))


@pytest.mark.parametrize("type_", SchemaType)
def test_a_derived_schema_has_the_columns_that_it_was_made_of(type_: SchemaType) -> None:
    schema = derived(type_, EVERYTHING)
    found = {name: spark_name(kind) for name, kind in columns_of(schema).fields}
    assert found == {name: spark_name(kind) for name, kind in EVERYTHING.fields} | WIDENED[type_]
    assert schema.record_name == "bank.Payment"


@pytest.mark.parametrize(
    ("type_", "level", "may_go"),
    [(SchemaType.AVRO, Level.FULL, True), (SchemaType.JSON, Level.BACKWARD, False), (SchemaType.PROTOBUF, Level.BACKWARD, True)],
)
def test_columns_may_come_and_mostly_go(type_: SchemaType, level: Level, may_go: bool) -> None:
    first = derived(type_, Struct((("a", STRING), ("b", BIGINT))))
    second = derived(type_, Struct((("new", STRING), ("b", BIGINT), ("a", STRING), ("inner", Struct((("x", STRING),))))), first)
    third = derived(type_, Struct((("new", STRING), ("b", BIGINT), ("inner", Struct((("x", STRING), ("y", STRING)))))), second)
    assert breaches(second, [first], level) == []
    assert (breaches(third, [second], level) == []) is may_go, "a closed object of JSON cannot lose a property"


def test_protobuf_numbers_keep_their_meaning_for_ever() -> None:
    first = derived(SchemaType.PROTOBUF, Struct((("a", STRING), ("b", STRING))))
    second = derived(SchemaType.PROTOBUF, Struct((("c", STRING), ("b", STRING))), first)
    third = derived(SchemaType.PROTOBUF, Struct((("a", STRING), ("b", STRING))), second)
    assert "optional string b = 2;" in second.canonical
    assert "optional string c = 3;" in second.canonical
    assert "reserved 1;" in second.canonical
    assert "optional string a = 4;" in third.canonical, "the name is back, and not its number"
    assert "reserved 1, 3;" in third.canonical


@pytest.mark.parametrize(
    ("type_", "columns", "sentence"),
    [
        (SchemaType.AVRO, Struct((("a-b", STRING),)), "Avro has no field 'a-b'"),
        (SchemaType.PROTOBUF, Struct((("a b", STRING),)), "Protobuf has no field 'a b'"),
        (SchemaType.AVRO, Struct((("m", Map(BIGINT, STRING)),)), "Avro's maps have keys of text"),
        (SchemaType.JSON, Struct((("m", Map(BIGINT, STRING)),)), "JSON's objects have names of text"),
        (SchemaType.PROTOBUF, Struct((("m", Array(Array(STRING))),)), "Protobuf has no lists of lists"),
    ],
)
def test_columns_that_a_format_cannot_have_are_refused(type_: SchemaType, columns: Struct, sentence: str) -> None:
    with pytest.raises(CannotRun, match=sentence):
        derived(type_, columns)


def test_a_topic_names_its_records() -> None:
    assert record_name("bank.payments-eu") == "bank_payments_eu"
    assert record_name("7days") == "_7days"


def test_columns_survive_sparks_notation() -> None:
    assert of_spark(spark_schema(EVERYTHING)) == EVERYTHING


FINER = "the column 'price' is decimal(9,3), and its field needs decimal(9,2)"
WANTED = Struct((("a", STRING), ("n", BIGINT), ("price", of_spark("decimal(9,2)")), ("inner", Struct((("x", STRING),)))))


@pytest.mark.parametrize(
    ("columns", "difference"),
    [
        (WANTED, None),
        (Struct((("a", STRING), ("n", Scalar("int")))), None),
        (Struct((("a", STRING), ("price", of_spark("decimal(5,1)")))), None),
        (Struct((("n", BIGINT),)), "it has the field 'a', and there is no such column"),
        (Struct((("a", STRING), ("b", STRING))), "it has no field for the column 'b'"),
        (Struct((("a", BIGINT),)), "the column 'a' is bigint, and its field needs string"),
        (
            Struct((("a", STRING), ("price", of_spark("decimal(9,3)")))),
            "the column 'price' is decimal(9,3), and its field needs decimal(9,2)",
        ),
        (Struct((("a", STRING), ("inner", Struct((("y", STRING),))))), "it has no field for the column 'inner.y'"),
    ],
)
def test_a_misfit_names_the_difference(columns: Struct, difference: str | None) -> None:
    assert misfit(columns, WANTED, {"a"}) == difference
