"""Topics, through Spark's own connector.

    payments: {topic: payments, format: json, schema: "account STRING, amount DOUBLE",
               start: earliest, rate: 10000}

``topic`` names one, ``topics`` several, ``pattern`` is a regular expression for all that match,
also those created later. ``start`` counts only at the first start: afterwards the checkpoint has
the position. Only committed records are read, unless ``isolation: read_uncommitted``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.located import plain
from barnabas.pipelines.errors import DeclarationError
from barnabas.pipelines.formats.decoding import accept_records, decode, with_schema
from barnabas.pipelines.sources.query_checkpoint import QueryCheckpoint, topic_offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.fields import Fields
    from barnabas.pipelines.declaration.located import Located
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration
    from barnabas.pipelines.schema_changes.columns import SchemaChange

DECODES = True
REMEMBERS_SCHEMA = True
PACKAGES = ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",)
# Enough to see every field that a producer writes now and then; read once, at the first start.
INFERENCE_RECORDS_MAX = 1000
# When a change is accepted, new fields are searched in this many records of each partition that
# were read already: some seconds of reading.
LOOK_BACK_RECORDS_MAX = 100_000
# How long a cluster may take to list its partitions.
ANSWER_SECONDS_MAX = 10.0
DEFAULT_START = "earliest"
_OFFSETS = {"earliest": -2, "latest": -1}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    topics: tuple[str, ...]  # none with a pattern
    pattern: str | None
    start: dict[str, str]  # the connector's options for it
    rate: int | None  # records in one batch at most
    isolation: str
    options: dict[str, str]  # passed on to the connector


def declare(fields: Fields) -> TopicSettings:
    names, pattern = _declare_topics(fields)
    return TopicSettings(
        topics=names,
        pattern=pattern,
        start=_declare_start(fields, names),
        rate=fields.optional_integer("rate", minimum=1),
        isolation=fields.choice("isolation", ("read_committed", "read_uncommitted"), default="read_committed"),
        options=fields.optional_texts_by_name("options"),
    )


def topics(settings: object) -> tuple[str, ...]:
    assert isinstance(settings, TopicSettings)
    return settings.topics


def read(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> DataFrame:
    settings = declaration.settings
    assert isinstance(settings, TopicSettings)
    declaration = with_schema(declaration, lambda: sample(session, settings, context), context, next(iter(settings.topics), None))
    return decode(read_records(session, settings, context), declaration, context)


def accept(session: SparkSession, declaration: SourceDeclaration, context: RunContext) -> tuple[SchemaChange, ...]:
    settings = declaration.settings
    assert isinstance(settings, TopicSettings)
    unread, recent = (_records_before(session, settings, context, back) for back in (0, LOOK_BACK_RECORDS_MAX))
    return accept_records(declaration, unread, recent, context, next(iter(settings.topics), None))


def _records_before(session: SparkSession, settings: TopicSettings, context: RunContext, back: int) -> DataFrame:
    """Values from this many records before the first unwritten record of any sink, as a frame that
    does not stream."""
    reached = [QueryCheckpoint(session, context.checkpoint_of(sink.name)).reached() for sink in context.pipeline.sinks]
    starts: dict[str, dict[str, int]] = {}
    for topic, partitions in _partitions(settings, context).items():
        # A sink without a finished batch has no offsets, and may still have to read all of the
        # topic.
        found = [{} if not each else topic_offsets(each, topic) for each in reached]
        first = {each: min((offsets.get(each, 0) for offsets in found if offsets is not None), default=0) for each in partitions}
        starts[topic] = {str(each): offset - back if offset > back else _OFFSETS["earliest"] for each, offset in first.items()}
    # Retention may have deleted records that no sink has read; the schema is inferred from the
    # rest.
    options = {**_options(settings, context), "startingOffsets": json.dumps(starts), "failOnDataLoss": "false"}
    return session.read.format("kafka").options(**options).load().select("value").where("value IS NOT NULL")


def _partitions(settings: TopicSettings, context: RunContext) -> dict[str, list[int]]:
    from confluent_kafka.admin import AdminClient

    with AdminClient(context.client_config()) as admin:
        found = admin.list_topics(timeout=ANSWER_SECONDS_MAX).topics
    pattern = None if settings.pattern is None else re.compile(settings.pattern)
    wanted = [name for name in found if (name in settings.topics if pattern is None else pattern.fullmatch(name))]
    return {name: sorted(found[name].partitions) for name in wanted}


def read_records(session: SparkSession, settings: TopicSettings, context: RunContext) -> DataFrame:
    """The stream with Kafka's columns, headers among them."""
    options = {**_options(settings, context), **settings.start, "groupIdPrefix": f"barnabas.pipelines.{context.name}"}
    if settings.rate is not None:
        options["maxOffsetsPerTrigger"] = str(settings.rate)
    return session.readStream.format("kafka").options(**{**options, **settings.options}).load()


def sample(session: SparkSession, settings: TopicSettings, context: RunContext) -> DataFrame:
    """The first values of the topic, as a frame that does not stream."""
    return session.read.format("kafka").options(**_options(settings, context)).load().select("value").limit(INFERENCE_RECORDS_MAX)


def _options(settings: TopicSettings, context: RunContext) -> dict[str, str]:
    which = {"subscribePattern": f"^(?:{settings.pattern})$"} if settings.pattern is not None else {"subscribe": ",".join(settings.topics)}
    return {**context.spark_kafka_options(), **which, "includeHeaders": "true", "kafka.isolation.level": settings.isolation}


def _declare_topics(fields: Fields) -> tuple[tuple[str, ...], str | None]:
    if "pattern" in fields:
        pattern = fields.text("pattern")
        try:
            re.compile(pattern)
        except re.error as error:
            fields.report(f"'pattern' of {fields.what} is a regular expression, but {pattern!r} is not: {error}.", "pattern")
        return (), pattern
    return (fields.topics("topics") if "topics" in fields else (fields.topic("topic"),)), None


def _declare_start(fields: Fields, names: tuple[str, ...]) -> dict[str, str]:
    try:
        return _start_options(fields.located("start", "value", DEFAULT_START), fields, names)
    except DeclarationError as mistake:
        fields.findings.report(mistake)
        return {}


def _start_options(found: Located | None, fields: Fields, names: tuple[str, ...]) -> dict[str, str]:
    if found is None or found.value == DEFAULT_START:
        return {"startingOffsets": "earliest"}
    if found.value == "latest":
        return {"startingOffsets": "latest"}
    if isinstance(found.value, dict) and len(found.value) == 1:
        ((kind, value),) = found.value.items()
        if kind == "timestamp":
            # If no record is that new yet, start with the next one.
            return {"startingTimestamp": str(_epoch_ms(value, fields.what)), "startingOffsetsByTimestampStrategy": "latest"}
        if kind == "offsets":
            return {"startingOffsets": json.dumps(_offsets(value, names, fields.what))}
    raise found.place.error(
        f"'start' of {fields.what} is earliest, latest, {{timestamp: 2030-01-31T12:00:00Z}} or {{offsets: {{0: 7}}}}, not {plain(found)!r}."
    )


def _epoch_ms(found: Located, what: str) -> int:
    value = found.value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError as error:
        raise found.place.error(
            f"'timestamp' of {what} is milliseconds since 1970 or a time such as 2030-01-31T12:00:00Z, not {value!r}."
        ) from error
    # A time without a zone is UTC, as in YAML: the same file must mean the same on every machine.
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _offsets(found: Located, names: tuple[str, ...], what: str) -> dict[str, dict[str, int]]:
    """``{0: 100, 1: latest}``, or the same by topic where there are several. Partitions that are
    not named start at the beginning."""
    offsets = plain(found)
    by_topic = offsets if isinstance(offsets, dict) and all(isinstance(each, dict) for each in offsets.values()) else None
    if by_topic is None and len(names) == 1:
        by_topic = {names[0]: offsets}
    try:
        assert isinstance(by_topic, dict)
        return {
            topic: {str(int(partition)): _OFFSETS.get(offset, offset) + 0 for partition, offset in partitions.items()}
            for topic, partitions in by_topic.items()
        }
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        raise found.place.error(
            f"'offsets' of {what} maps partitions to offsets, earliest or latest, as in {{0: 100, 1: latest}}; several topics: by topic."
        ) from error
