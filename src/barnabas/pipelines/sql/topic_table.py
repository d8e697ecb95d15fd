"""A topic as a table: the fields of its JSON values as columns, and Kafka's fields of each record
with a leading underscore.

    _key  _partition  _offset  _timestamp  _headers
    then the fields, or ``value`` if the values are not JSON objects

The columns come from a sample. A field that is not in the sample has no column; a field is null in
records where it has another type.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.sql.topic_offsets import SampleRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_JSON_OPTIONS = {"inferTimestamp": "true"}
# Topics of JSON may have some records that are not; when most are not, it is not a topic of JSON.
_JSON_SHARE_MIN = 0.5


class ValueKind(StrEnum):
    JSON = "json"
    TEXT = "text"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class TableShape:
    values: ValueKind
    key_is_text: bool
    fields: StructType | None = None  # of JSON
    is_empty: bool = False  # there are no records to infer from


def infer(session: SparkSession, sample: Sequence[SampleRecord]) -> TableShape:
    key_is_text = _all_text(each.key for each in sample)
    values = [each.value for each in sample if each.value is not None]
    objects = [text for each in values if (text := _json_object(each)) is not None]
    if objects and len(objects) >= _JSON_SHARE_MIN * len(values):
        return TableShape(ValueKind.JSON, key_is_text, _without_clashes(_schema(session, objects)))
    return TableShape(ValueKind.TEXT if _all_text(values) else ValueKind.BYTES, key_is_text, is_empty=not values)


def table(records: DataFrame, shape: TableShape) -> DataFrame:
    """``records`` has the connector's columns, ``headers`` among them."""
    from pyspark.sql import functions as f

    value = f.col("value")
    about = [
        (f.col("key").cast("string") if shape.key_is_text else f.col("key")).alias("_key"),
        f.col("partition").alias("_partition"),
        f.col("offset").alias("_offset"),
        f.col("timestamp").alias("_timestamp"),
        f.expr("map_from_entries(transform(headers, each -> struct(each.key, string(each.value))))").alias("_headers"),
    ]
    if shape.values is ValueKind.JSON:
        assert shape.fields is not None
        parsed = f.from_json(value.cast("string"), shape.fields, _JSON_OPTIONS)
        return records.select(*about, parsed.alias("fields")).select(*(f"_{name}" for name in _ABOUT), "fields.*")
    return records.select(*about, value if shape.values is ValueKind.BYTES else value.cast("string").alias("value"))


_ABOUT = ("key", "partition", "offset", "timestamp", "headers")


def _schema(session: SparkSession, objects: list[str]) -> StructType:
    """As ``session.read.json`` infers it. PySpark offers that only through Python workers: seconds
    for a thousand texts."""
    from pyspark.sql.types import StructType

    jvm: Any = session._jvm  # noqa: SLF001
    java: Any = session._jsparkSession  # noqa: SLF001
    reader: Any = session.read.options(**_JSON_OPTIONS)._jreader  # noqa: SLF001
    texts = java.createDataset(objects, jvm.org.apache.spark.sql.Encoders.STRING())
    return StructType.fromJson(json.loads(reader.json(texts).schema().json()))


def _json_object(value: bytes) -> str | None:
    try:
        text = value.decode()
        return text if isinstance(json.loads(text), dict) else None
    except ValueError:
        return None


def _all_text(values: Iterable[bytes | None]) -> bool:
    try:
        return all("\0" not in each.decode() for each in values if each is not None)
    except UnicodeDecodeError:
        return False


def _without_clashes(schema: StructType) -> StructType:
    """Fields with the names of our own columns cannot be reached: two columns of one name are an
    error in every query."""
    from pyspark.sql.types import StructField, StructType

    taken = {f"_{name}" for name in _ABOUT}
    kept: dict[str, StructField] = {}
    for field in schema.fields:
        if field.name.lower() not in taken:
            kept.setdefault(field.name.lower(), field)
    return StructType(list(kept.values()))
