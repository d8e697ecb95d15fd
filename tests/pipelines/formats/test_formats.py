"""Each format decodes its bytes and rejects others; without a broker, because formats work on
columns.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines.declaration.fields import Fields
from barnabas.pipelines.declaration.format_declaration import FormatDeclaration, declare_format
from barnabas.pipelines.declaration.located import Place, located
from barnabas.pipelines.errors import DeclarationError
from barnabas.pipelines.formats import FORMATS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "account", "type": ["null", "string"]}, {"name": "amount", "type": ["null", "double"]}],
}


def declared(kind: Any, schema: str | None = None) -> FormatDeclaration:
    fields = {"format": kind} if schema is None else {"format": kind, "schema": schema}
    return declare_format(Fields(located(fields, Place("test.yaml", 7)), "source 's'"))


def decoded(spark: SparkSession, declaration: FormatDeclaration, *values: bytes | None) -> list[tuple[Any, str | None]]:
    from pyspark.sql import functions as F

    frame = spark.createDataFrame([(position, value) for position, value in enumerate(values)], "position INT, value BINARY")
    row, reason, _ = FORMATS.of(declaration.kind).decode(F.col("value"), declaration)
    found = frame.select("position", row.alias("row"), reason.alias("reason")).orderBy("position").collect()
    return [(None if each.row is None else tuple(each.row), each.reason) for each in found]


def encoded(spark: SparkSession, declaration: FormatDeclaration, schema: str, *rows: tuple[Any, ...]) -> list[bytes]:
    frame = spark.createDataFrame(list(rows), schema)
    column = FORMATS.of(declaration.kind).encode(frame.columns, declaration)
    return [bytes(each[0]) for each in frame.select(column.cast("binary")).collect()]


def test_csv_needs_one_value_for_every_column(spark: SparkSession) -> None:
    csv = declared("csv", "account STRING, amount DOUBLE, at DATE")
    good, too_few, too_many, no_number, nothing, quoted = decoded(
        spark, csv, b"a,1.5,2030-01-31", b"a,1.5", b"a,1.5,2030-01-31,4", b"a,much,2030-01-31", None, b'"a, ""b""",2,'
    )
    assert good == (("a", 1.5, date(2030, 1, 31)), None)
    assert quoted == (('a, "b"', 2.0, None), None)
    for row, reason in (too_few, too_many, no_number):
        assert row is None
        assert reason is not None
        assert "this line does not have the declared columns" in reason
    assert nothing == (None, "there is no value")


def test_csv_is_written_as_it_is_read(spark: SparkSession) -> None:
    csv = declared({"csv": {"separator": ";", "null": "-"}}, "name STRING, n INT")
    rows = [('he said "no"; then left', 1), (None, 2), ("", None)]
    lines = encoded(spark, csv, "name STRING, n INT", *rows)
    assert lines[0] == b'"he said ""no""; then left";1'
    assert [row for row, _ in decoded(spark, csv, *lines)] == rows


def test_csv_infers_types(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(b"a,1,2.5",), (b"b,2,3",)], "value BINARY")
    assert FORMATS.of("csv").infer(frame, declared("csv")) == "c0 string, c1 int, c2 double"


def test_avro_is_decoded_with_the_schema_it_was_written_with(spark: SparkSession) -> None:
    avro = declared({"avro": {"schema": PAYMENT}})
    rows = [("a", 1.5), (None, None)]
    values = encoded(spark, avro, "account STRING, amount DOUBLE", *rows)
    assert decoded(spark, avro, *values) == [(row, None) for row in rows], "a record of nulls is not one that could not be read"
    assert decoded(spark, avro, b"\x02", b"", None) == [
        (None, "this is not Avro of the declared schema"),
        (None, "this is not Avro of the declared schema"),
        (None, "there is no value"),
    ]


def test_avro_works_with_the_registrys_framing(spark: SparkSession) -> None:
    framed = declared({"avro": {"schema": json.dumps(PAYMENT), "framing": "registry", "schema_id": 258}})
    (value,) = encoded(spark, framed, "account STRING, amount DOUBLE", ("a", 1.5))
    assert value[:5] == b"\0\0\0\1\2"
    assert value[5:] == encoded(spark, declared({"avro": {"schema": PAYMENT}}), "account STRING, amount DOUBLE", ("a", 1.5))[0]
    other = b"\0\0\0\0\7" + value[5:]
    assert decoded(spark, framed, value, other, value[5:], b"\0\0") == [
        (("a", 1.5), None),
        (None, "the schema id is 7, and only that of 258 is declared"),
        (None, "this does not start with a zero byte and a schema id"),
        (None, "this does not start with a zero byte and a schema id"),
    ]
    any_id = declared({"avro": {"schema": PAYMENT, "framing": "registry"}})
    assert decoded(spark, any_id, value, other) == [(("a", 1.5), None)] * 2


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ({"csv": {"separator": "::"}}, "'separator' of format 'csv' of source 's' is one character, not '::'."),
        ({"avro": {"schema": "{"}}, "the Avro schema of format 'avro' of source 's' is not JSON"),
        ({"avro": {"schema": {"type": "string"}}}, "is not that of a record (type: record, with a name and fields)."),
        ({"avro": {"schema_file": "/nowhere/p.avsc"}}, "cannot be read: /nowhere/p.avsc: No such file or directory."),
        ({"avro": {"schema": PAYMENT, "schema_id": 1}}, "has a 'schema_id', which only 'framing: registry' puts into records."),
    ],
)
def test_invalid_settings_are_refused_with_their_line(kind: Any, sentence: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        declared(kind)
    assert str(refused.value).startswith("test.yaml:7: ")
    assert sentence in str(refused.value)
