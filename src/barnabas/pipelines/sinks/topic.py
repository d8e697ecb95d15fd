"""Topics.

    alerts_out: {from: large, topic: alerts, key: account, value: [account, amount],
                 format: json, guarantee: at_least_once}

``key`` and the headers are SQL over the view's columns; ``value`` names columns (``all``: those
without a leading underscore). ``tombstone`` is a condition: rows that meet it are written without a
value, which in a compacted topic deletes their key. ``route`` is SQL for a row's topic, as in
``concat('orders.', country)``; where it is null, the row goes to ``topic``. Topics that only
``route`` names are not created beforehand.

guarantee       writer                                   after a failure
=============   ======================================   ===========================================
exactly_once    :mod:`barnabas.pipelines.exactly_once`   no row is missing, none is there twice
at_least_once   Spark's own Kafka sink                   no row is missing; those of a batch may be
                                                         there twice
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.format_declaration import FormatDeclaration, declare_format
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.formats import FORMATS, quoted
from barnabas.pipelines.registered.settings import RegisteredSettings
from barnabas.pipelines.sinks import Check, selects

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration

PACKAGES = ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",)
GUARANTEES = ("exactly_once", "at_least_once")
DEFAULT_GUARANTEE = "exactly_once"
# The types that these expressions become.
_CASTS = {"route": "STRING", "tombstone": "BOOLEAN", "partition": "INT"}


@dataclass(frozen=True, slots=True)
class TopicSinkSettings:
    topic: str
    key: str | None  # SQL
    value: tuple[str, ...] | None  # columns; None: all
    format: FormatDeclaration
    headers: dict[str, str]  # SQL by header
    partition: str | None  # SQL
    tombstone: str | None  # SQL, a condition
    route: str | None  # SQL; None: all rows go to the topic
    guarantee: str
    options: dict[str, str]  # passed on to the producer or the exactly-once writers


def declare(fields: Fields) -> TopicSinkSettings:
    value = fields.optional_texts("value")
    return TopicSinkSettings(
        topic=fields.topic("topic"),
        key=fields.optional_text("key"),
        value=None if value in (None, ("all",)) else value,
        format=declare_format(fields, has_schema=False),
        headers=fields.optional_texts_by_name("headers"),
        partition=fields.optional_text("partition"),
        tombstone=fields.optional_text("tombstone"),
        route=fields.optional_text("route"),
        guarantee=fields.choice("guarantee", GUARANTEES, default=DEFAULT_GUARANTEE),
        options=fields.optional_texts_by_name("options"),
    )


def topics(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, TopicSinkSettings)
    return (settings.topic,)


def checks(frame: DataFrame, declaration: SinkDeclaration) -> Iterable[Check]:
    settings = declaration.settings
    assert isinstance(settings, TopicSinkSettings)
    for name in ("key", "route", "tombstone", "partition"):
        expression = getattr(settings, name)
        if expression is not None:
            yield (name,), selects(frame, expression, _CASTS.get(name))
    for header, expression in settings.headers.items():
        yield ("headers", header), selects(frame, expression)
    plain = replace(settings, key=None, headers={}, partition=None, tombstone=None, route=None)
    yield ("value",), lambda: _check_registered(records(frame, plain), settings)


def start(frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
    settings = declaration.settings
    assert isinstance(settings, TopicSinkSettings)
    encoded = records(frame, settings)
    if isinstance(settings.format.settings, RegisteredSettings):
        encoded = _registered(encoded, settings.format.settings, settings.topic)
    if settings.guarantee == "exactly_once":
        # Imported by name, because it is built on the sinks and imports this module.
        query: StreamingQuery = import_module("barnabas.pipelines.exactly_once.sink").start(encoded, declaration, context)
        return query
    writer = context.writer(encoded, declaration.name, declaration.mode).format("kafka")
    return writer.options(**{**context.spark_kafka_options(), "includeHeaders": "true", **settings.options}).start()


def records(frame: DataFrame, settings: TopicSinkSettings) -> DataFrame:
    """The rows as Kafka's columns: ``topic`` (text), ``key`` and ``value`` (binary), ``headers``
    (null without any), and ``partition`` (a number) when it is declared. Where the format has a
    registry, ``value`` is a struct of the columns, which :func:`_registered` encodes."""
    from pyspark.sql import functions as F

    columns = settings.value or tuple(name for name in frame.columns if not name.startswith("_"))
    if missing := [name for name in columns if name not in frame.columns]:
        raise CannotRun(f"Topic {settings.topic!r} needs the column {missing[0]!r}, but the columns are {', '.join(frame.columns)}.")
    if isinstance(settings.format.settings, RegisteredSettings):
        value = F.struct(*map(quoted, columns))
    else:
        value = FORMATS.of(settings.format.kind).encode(columns, settings.format).cast("binary")
    if settings.tombstone is not None:
        value = F.when(~F.coalesce(F.expr(settings.tombstone).cast("boolean"), F.lit(False)), value)
    key = F.lit(None).cast("binary") if settings.key is None else _bytes(settings.key, frame)
    topic = F.lit(settings.topic)
    if settings.route is not None:
        topic = F.coalesce(F.expr(settings.route).cast("string"), topic)
    encoded = [
        topic.alias("topic"),
        key.alias("key"),
        value.alias("value"),
        _headers(settings.headers, frame).alias("headers"),
    ]
    if settings.partition is not None:
        encoded.append(F.expr(settings.partition).cast("int").alias("partition"))
    return frame.select(*encoded)


def _registered(encoded: DataFrame, format_: RegisteredSettings, topic: str) -> DataFrame:
    """Registers the schema, and encodes the values with it."""
    from barnabas.pipelines.registered.encoding import encoded_frame
    from barnabas.pipelines.registered.writers import columns_of_value, encoding_plan

    return encoded_frame(encoded, encoding_plan(columns_of_value(encoded.schema["value"].dataType), format_, topic))


def _check_registered(encoded: DataFrame, settings: TopicSinkSettings) -> None:
    if isinstance(settings.format.settings, RegisteredSettings):
        from barnabas.pipelines.registered.writers import check_columns, columns_of_value

        check_columns(columns_of_value(encoded.schema["value"].dataType), settings.format.settings, settings.topic)


def _bytes(expression: str, frame: DataFrame) -> Column:
    """Binary values as they are, others as text."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType

    column = F.expr(expression)
    binary = isinstance(frame.select(column).schema.fields[0].dataType, BinaryType)
    return column if binary else column.cast("string").cast("binary")


def _headers(headers: dict[str, str], frame: DataFrame) -> Column:
    from pyspark.sql import functions as F

    if not headers:
        return F.lit(None).cast("array<struct<key: string, value: binary>>")
    pairs = (F.struct(F.lit(name).alias("key"), _bytes(expression, frame).alias("value")) for name, expression in headers.items())
    return F.array(*pairs)
