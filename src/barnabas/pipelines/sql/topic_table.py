"""A topic as a table: the fields of its JSON values as columns, and Kafka's fields of each record
with a leading underscore.

    _key  _partition  _offset  _timestamp  _headers
    then the fields, or ``value`` if the values are not JSON objects

The columns come from a sample. A field that is not in the sample has no column; a field is null in
records where it has another type. Where a registry has the schema of the values, the columns are
its fields, and a record that cannot be decoded has null in all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.column_types import spark_schema
from barnabas.pipelines.sql.inference import KAFKA_COLUMNS, TableShape, ValueKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def table(records: DataFrame, shape: TableShape) -> DataFrame:
    """``records`` has the connector's columns, ``headers`` among them."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    value = f.col("value")
    about = [
        (f.col("key").cast("string") if shape.key_is_text else f.col("key")).alias("_key"),
        f.col("partition").alias("_partition"),
        f.col("offset").alias("_offset"),
        f.col("timestamp").alias("_timestamp"),
        f.expr("map_from_entries(transform(headers, each -> struct(each.key, string(each.value))))").alias("_headers"),
    ]
    if shape.values is ValueKind.REGISTERED:
        from barnabas.pipelines.registered.decoding import decoded_frame

        assert shape.fields is not None
        assert shape.plan is not None
        columns = StructType.fromJson(spark_schema(shape.fields))
        decoded = decoded_frame(records, shape.plan, columns, ["key", "partition", "offset", "timestamp", "headers"])
        return decoded.select(*about, f.col("_row").alias("fields")).select(*KAFKA_COLUMNS, "fields.*")
    if shape.values is ValueKind.JSON:
        assert shape.fields is not None
        parsed = f.from_json(value.cast("string"), StructType.fromJson(spark_schema(shape.fields)))
        return records.select(*about, parsed.alias("fields")).select(*KAFKA_COLUMNS, "fields.*")
    return records.select(*about, value if shape.values is ValueKind.BYTES else value.cast("string").alias("value"))
