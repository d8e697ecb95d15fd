"""Records that could not be decoded, in a topic of their own: with the same key, value and headers,
and their origin in further headers.

header                              meaning
=================================   ================================================================
``barnabas.dead_letter.reason``     why it could not be decoded
``barnabas.dead_letter.pipeline``   the pipeline that read it
``barnabas.dead_letter.source``     the source of that pipeline
``barnabas.dead_letter.topic``      its position: ``.topic``, ``.partition``, ``.offset`` and
                                    ``.timestamp`` (milliseconds since 1970)
``barnabas.dead_letter.file``       for lines of files, in place of the position

A query of their own writes them, with a checkpoint of its own.

guarantee       after a failure
=============   ====================================================================================
exactly_once    each letter is there once: the letters of a batch and the note that the batch is
                written are one transaction, as for any sink
                (:mod:`barnabas.pipelines.exactly_once`)
at_least_once   the letters of the last batch may be there twice, with the same position (Spark's
                own Kafka sink)

:mod:`barnabas.pipelines.redrive` sends them to their topic again, each position once under both
guarantees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration

PREFIX = "barnabas.dead_letter."
REASON, TOPIC, PARTITION, OFFSET, TIMESTAMP = (PREFIX + name for name in ("reason", "topic", "partition", "offset", "timestamp"))
PIPELINE, SOURCE, FILE = (PREFIX + name for name in ("pipeline", "source", "file"))
_HEADERS_TYPE = "array<struct<key: string, value: binary>>"


def start(undecodable: DataFrame, source: SourceDeclaration, context: RunContext) -> StreamingQuery:
    """``undecodable`` has ``value`` and ``reason``, and those of Kafka's columns and ``file`` that
    its source has."""
    from pyspark.sql import functions as F

    assert source.decoding is not None
    assert source.decoding.dead_letters is not None
    declared, part = source.decoding.dead_letters, f"{source.name}.dead_letters"
    letters = records(undecodable, source.name, context.name).withColumn("topic", F.lit(declared.topic))
    writer = context.writer(letters, part)
    if declared.guarantee == "at_least_once":
        return writer.format("kafka").options(**context.spark_kafka_options(), includeHeaders="true").start()
    from barnabas.pipelines.exactly_once.sink import ExactlyOnce

    sink = ExactlyOnce(
        pipeline=context.name,
        client=context.client_config(),
        producer={},
        checkpoint=context.checkpoint_of(part),
        writers=context.session.sparkContext.defaultParallelism,
        rows_written=context.counts_rows(part),
    )
    return sink.start(letters, writer)


def records(undecodable: DataFrame, source: str, pipeline: str) -> DataFrame:
    from pyspark.sql import functions as F

    present = undecodable.columns
    headers_added = {REASON: F.col("reason"), PIPELINE: F.lit(pipeline), SOURCE: F.lit(source)}
    headers_added |= {PREFIX + name: F.col(name) for name in ("topic", "partition", "offset", "file") if name in present}
    if "timestamp" in present:
        headers_added[TIMESTAMP] = F.unix_millis("timestamp")
    headers: Column = F.array(*(_header(name, column) for name, column in headers_added.items()))
    if "headers" in present:
        # A record that becomes a dead letter again has these headers already: the new ones replace
        # them.
        before = F.filter(F.coalesce("headers", F.array().cast(_HEADERS_TYPE)), lambda each: ~each["key"].startswith(PREFIX))
        headers = F.concat(before, headers)
    key = F.col("key") if "key" in present else F.lit(None).cast("binary")
    return undecodable.select(key.alias("key"), "value", headers.cast(_HEADERS_TYPE).alias("headers"))


def _header(name: str, column: Column) -> Column:
    from pyspark.sql import functions as F

    return F.struct(F.lit(name).alias("key"), column.cast("string").cast("binary").alias("value"))
