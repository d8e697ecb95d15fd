"""A compacted topic as a table: the latest value of every key; a record without a value (a
tombstone) deletes its key.

    limits: {table: limits, key: "account STRING", schema: "limit DOUBLE"}

There are two ways to join a stream with it:

way                   a row of the stream sees    cost of a batch          run again after a failure
===================   =========================   ======================   =========================
``JOIN`` in ``sql``   the table as it is when     reads the whole topic    sees the table of that
                      the batch begins; any                                later moment
                      condition, several tables
``join`` step         the table as it is after    the batch's rows alone   sees the same
                      the batch's own changes;
                      by the table's key

In SQL the table is a frame that does not stream: Spark reads it again in every batch, sorts by key
(spilling to disk if need be), and joins. That suits small tables and conditions other than "the
same key". It does not suit ``guarantee: exactly_once``: a batch that runs again would see another
table, so a declaration with both is refused. The ``join`` step
(:mod:`barnabas.pipelines.steps.join`) keeps the latest values in Spark's state store, RocksDB,
which may be as large as the disk and is rolled back with the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from barnabas.pipelines.formats.decoding import accept_records, decode, with_schema
from barnabas.pipelines.registered.plans import DecodingPlan
from barnabas.pipelines.sources.topic import TopicSettings, read_records, sample

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration
    from barnabas.pipelines.schema_changes.columns import SchemaChange

DECODES = True
REMEMBERS_SCHEMA = True
# In SQL, every batch and every rerun of a batch reads the table again.
READ_ANEW = True
PACKAGES = ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",)
_RECORD = ("value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


@dataclass(frozen=True, slots=True)
class TableSettings:
    topic: str
    options: dict[str, str]  # passed on to the connector

    @property
    def as_topic(self) -> TopicSettings:
        """From the beginning and without a limit: a table must be complete."""
        return TopicSettings((self.topic,), None, {"startingOffsets": "earliest"}, None, "read_committed", self.options)


def declare(fields: Fields) -> TableSettings:
    if "key" not in fields:
        fields.report(f"{fields.what} lacks 'key': the column that is a record's key, and its type, such as 'account STRING'.")
    return TableSettings(fields.topic("table"), fields.optional_texts_by_name("options"))


def topics(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, TableSettings)
    return (settings.topic,)


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    """The frame for SQL, which does not stream."""
    declaration = _with_schema(session, declaration, context)
    settings = declaration.settings
    assert isinstance(settings, TableSettings)
    if declaration.decoding is not None and declaration.decoding.dead_letters is not None:
        # Bad records are reported once, by a stream over the topic, and not again in every batch
        # that reads the table.
        decode(read_records(session, settings.as_topic, context), declaration, context, nulls_pass=True)
    options = {
        **context.spark_kafka_options(),
        "subscribe": settings.topic,
        "includeHeaders": "true",
        "kafka.isolation.level": "read_committed",
    }
    records = session.read.format("kafka").options(**{**options, **settings.options}).load()
    return decode(latest(records), declaration, replace(context, undecodable=[]))


def accept(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
    """Scans the whole topic: all of it belongs to the table, read or not."""
    settings = declaration.settings
    assert isinstance(settings, TableSettings)
    options = {**context.spark_kafka_options(), "subscribe": settings.topic, "kafka.isolation.level": "read_committed"}
    records = session.read.format("kafka").options(**options).load().select("value").where("value IS NOT NULL")
    return accept_records(declaration, records, records, context, settings.topic)


def changes(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[DataFrame, SourceDeclaration]:
    """The stream of changes, as Kafka's columns ``key``, ``value`` (null deletes) and ``offset``;
    and the source with its schema.

    Undecodable records are left out, or stop the query, according to the tolerance."""
    declaration = _with_schema(session, declaration, context)
    settings = declaration.settings
    assert isinstance(settings, TableSettings)
    records = read_records(session, settings.as_topic, context).where("key IS NOT NULL")
    if declaration.decoding is not None and isinstance(declaration.decoding.format.settings, DecodingPlan):
        from barnabas.pipelines.registered.decoding import with_header_inside

        records = with_header_inside(records)
    # Copy the value into a header: a decoded frame has columns in place of the value, and the state
    # must hold the bytes.
    raw = records.selectExpr(*(each for each in records.columns if each != "headers"), "array(struct('' AS key, value)) AS headers")
    decoded = decode(raw, declaration, replace(context, undecodable=[]), nulls_pass=True)
    return decoded.selectExpr("_key AS key", "_headers[0].value AS value", "_offset AS offset"), declaration


def latest(records: DataFrame) -> DataFrame:
    """All records of a key are in one partition, so the largest offset is the latest. Records
    without a key do not count."""
    from pyspark.sql import functions as F

    present = [name for name in _RECORD if name in records.columns]
    last = records.where("key IS NOT NULL").groupBy("key").agg(F.max_by(F.struct(*present), "offset").alias("last"))
    return last.where("last.value IS NOT NULL").select("key", "last.*")


def _with_schema(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> SourceDeclaration:
    settings = declaration.settings
    assert isinstance(settings, TableSettings)
    return with_schema(declaration, lambda: sample(session, settings.as_topic, context), context, settings.topic)
