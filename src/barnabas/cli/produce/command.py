"""``barnabas produce``: the options, and the loop over the records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from confluent_kafka import Producer

from barnabas.cli.cluster.client import Bootstrap, Cluster, ConfigFile, reach
from barnabas.cli.errors import Refused
from barnabas.cli.produce.delivery import DELIVERY_SECONDS_MAX, Acks, Compression, Deliveries, Transaction, check_topic, send
from barnabas.cli.produce.draft import ANY_PARTITION, NOW, Defaults, Draft
from barnabas.cli.produce.json_records import JsonNotation
from barnabas.cli.produce.line_records import LineNotation
from barnabas.cli.produce.sources import Sources, TooLong
from barnabas.cli.registry_records.encoders import Encoders
from barnabas.cli.registry_records.options import (
    KeyMessage,
    KeySchema,
    KeySchemaId,
    KeySchemaVersion,
    KeySubject,
    ReadKeys,
    ReadValues,
    RegistryLogin,
    RegistryUrl,
    SchemaReferences,
    ValueMessage,
    ValueSchema,
    ValueSchemaId,
    ValueSchemaVersion,
    ValueSubject,
)
from barnabas.cli.registry_records.part_encoder import PartEncoder
from barnabas.cli.registry_records.schema_choice import SchemaChoice
from barnabas.cli.terminal.escapes import argument_bytes, unescape
from barnabas.cli.terminal.output import print_json, progress
from barnabas.cli.terminal.overrides import parse_pairs
from barnabas.cli.terminal.record_text import Notation, parse_bytes
from barnabas.cli.terminal.times import TIME, parse_time_ms

# librdkafka has two names for the time that a delivery may take.
_TIMEOUT_SETTINGS = ("message.timeout.ms", "delivery.timeout.ms")


def register(app: typer.Typer) -> None:
    app.command("produce")(produce)


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    file: Annotated[
        list[Path], typer.Option("--file", "-l", help="Read from this file instead of stdin; may be repeated, and - is stdin.")
    ] = [],  # noqa: B006
    key: Annotated[str | None, typer.Option("--key", "-k", help="The key of records that have none of their own.")] = None,
    value: Annotated[str | None, typer.Option("--value", help="Send one record with this value, and read nothing.")] = None,
    tombstone: Annotated[bool, typer.Option("--tombstone", help="Send one record with a null value, and read nothing.")] = False,
    header: Annotated[list[str], typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header for every record.")] = [],  # noqa: B006
    timestamp: Annotated[
        str | None, typer.Option("--timestamp", metavar=TIME, help="The timestamp of records that have none of their own; default: now.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, help="The partition of all records; default: by the hash of the key.")
    ] = None,
    from_json: Annotated[
        bool, typer.Option("--json", help="Each line is a record in JSON, as consume --json prints it; its topic is ignored.")
    ] = False,
    keep_partition: Annotated[
        bool, typer.Option("--keep-partition", help="With --json: send each record to the partition it names.")
    ] = False,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", help="The separator between key and value in a line.")
    ] = None,
    header_separator: Annotated[
        str | None, typer.Option("--header-separator", help="The separator after the headers in a line; they are name=value,name=value.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", "-D", help="What ends a record in the input; default: \\n.")] = None,
    whole_files: Annotated[bool, typer.Option("--whole-files", help="Send each --file as one record.")] = False,
    null_marker: Annotated[str | None, typer.Option("--null-marker", help="A key or value with this text is null.")] = None,
    null_when_empty: Annotated[bool, typer.Option("-Z", help="An empty key or value is null.")] = False,
    key_format: ReadKeys = None,
    value_format: ReadValues = None,
    registry: RegistryUrl = None,
    registry_login: RegistryLogin = None,
    key_schema: KeySchema = None,
    key_schema_id: KeySchemaId = None,
    key_schema_version: KeySchemaVersion = None,
    key_subject: KeySubject = None,
    key_message: KeyMessage = None,
    value_schema: ValueSchema = None,
    value_schema_id: ValueSchemaId = None,
    value_schema_version: ValueSchemaVersion = None,
    value_subject: ValueSubject = None,
    value_message: ValueMessage = None,
    schema_reference: SchemaReferences = [],  # noqa: B006
    records_max: Annotated[int | None, typer.Option("--max", "-c", min=1, help="Stop after this many records.")] = None,
    compression: Annotated[Compression | None, typer.Option("--compression", "-z", help="Default: none.")] = None,
    acks: Annotated[Acks | None, typer.Option("--acks", help="Which replicas must acknowledge a record; default: all.")] = None,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="Avoid duplicates on retries.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.1, help=f"Seconds a record may take until it is acknowledged; default: {DELIVERY_SECONDS_MAX:g}."),
    ] = None,
    summary_as_json: Annotated[bool, typer.Option("--json-summary", help="Print the counts as JSON.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Send lines of stdin or of files, JSON lines, or one --value as records."""
    lines = LineOptions(key_separator, header_separator, delimiter, null_marker, null_when_empty)
    used = tuple(schema_reference)
    keys = SchemaChoice("key", key_format, key_schema, key_schema_id, key_schema_version, key_subject, key_message, used)
    values = SchemaChoice("value", value_format, value_schema, value_schema_id, value_schema_version, value_subject, value_message, used)
    encoders = Encoders(keys, values, registry, registry_login)
    # Schemas come before the first record: every record is checked before it is sent.
    cluster = reach(bootstrap, config_file) if encoders.needed else None
    key_encoder, value_encoder = encoders.made(cluster, topic) if cluster is not None else (None, None)
    key_notation, value_notation = keys.chosen_format.notation, values.chosen_format.notation
    defaults = Defaults(
        _parse_option("--key", key, key_notation, key_encoder),
        tuple((name, argument_bytes(text)) for name, text in parse_pairs("--header", header)),
        NOW if timestamp is None else parse_time_ms("--timestamp", timestamp, now_ms=time.time_ns() // 1_000_000),
        ANY_PARTITION if partition is None else partition,
    )
    if keep_partition and (not from_json or partition is not None):
        raise Refused("--keep-partition takes the partitions from --json, so it needs --json and excludes --partition.")
    if value is not None or tombstone:
        lines.check_single(value, tombstone=tombstone, reads=bool(file) or from_json or whole_files)
        records: Iterable[Draft | bytes] = [defaults.draft(_parse_option("--value", value, value_notation, value_encoder))]
        sources = None
    else:
        sources = Sources(file)
        records = lines.texts(sources, whole_files=whole_files and bool(file), from_json=from_json)
    if whole_files and not file:
        raise Refused("--whole-files needs --file.")
    notation = (
        JsonNotation(key_notation, value_notation, keep_partition, defaults, key_encoder, value_encoder)
        if from_json
        else replace(lines.notation(key_notation, value_notation, defaults), key_encoder=key_encoder, value_encoder=value_encoder)
    )
    cluster = cluster or reach(bootstrap, config_file)
    producer = cluster.producer(_settings(cluster, compression, acks, idempotent, timeout))
    check_topic(cluster, producer, topic, partition)
    transaction = Transaction(cluster, producer)
    transaction.begin()
    deliveries = Deliveries()
    with _progress(sources):
        fault = _send_all(producer, topic, islice(records, records_max), notation, deliveries, sources)
        producer.flush()
    _conclude(topic, deliveries, transaction, fault, summary_as_json)


@dataclass(frozen=True, slots=True)
class LineOptions:
    """The options for records in lines, as they were given."""

    key_separator: str | None
    header_separator: str | None
    delimiter: str | None
    null_marker: str | None
    null_when_empty: bool

    def notation(self, key_format: Notation, value_format: Notation, defaults: Defaults) -> LineNotation:
        if self.null_when_empty and self.null_marker is not None:
            raise Refused("-Z is --null-marker '': give one of them.")
        null_marker = "" if self.null_when_empty else self.null_marker
        return LineNotation(
            _separator("--key-separator", self.key_separator),
            _separator("--header-separator", self.header_separator),
            None if null_marker is None else unescape("--null-marker", null_marker),
            key_format,
            value_format,
            defaults,
        )

    def texts(self, sources: Sources, *, whole_files: bool, from_json: bool) -> Iterable[bytes]:
        if whole_files:
            if from_json:
                raise Refused("--json reads a record from each line, and --whole-files from each file: give one of them.")
            self._refuse_beside("--whole-files")
            return sources.whole()
        if from_json:
            self._refuse_beside("--json")
        return sources.texts(_separator("--delimiter", self.delimiter) or b"\n")

    def check_single(self, value: str | None, *, tombstone: bool, reads: bool) -> None:
        option = "--tombstone" if tombstone else "--value"
        if value is not None and tombstone:
            raise Refused("--value and --tombstone are two values for one record: give one of them.")
        if reads:
            raise Refused(f"{option} sends one record, so --file, --json and --whole-files have nothing to read.")
        self._refuse_beside(option)

    def _refuse_beside(self, option: str) -> None:
        given = {
            "--key-separator": self.key_separator,
            "--header-separator": self.header_separator,
            "--delimiter": self.delimiter,
            "--null-marker": self.null_marker,
            "-Z": self.null_when_empty or None,
        }
        for name, value in given.items():
            if value is not None:
                raise Refused(f"{name} is for records in lines, so it does nothing beside {option}.")


@contextmanager
def _progress(sources: Sources | None) -> Iterator[None]:
    """Shown only for files. Without the size of the input there is no progress to show, and a bar
    would be drawn over the lines that a person types."""
    if sources is None or (size_bytes := sources.size_bytes) is None:
        if sources is not None and sources.is_typed:
            typer.echo("Type one record a line, and end with Ctrl-D.", err=True)
        yield
        return
    with progress("Producing", size_bytes) as show:
        sources.moved = show
        yield


def _send_all(
    producer: Producer,
    topic: str,
    records: Iterable[Draft | bytes],
    notation: LineNotation | JsonNotation,
    deliveries: Deliveries,
    sources: Sources | None,
) -> str | None:
    """The reason when reading ended before the records did, or None."""
    try:
        for record in records:
            try:
                draft = notation.parse(record) if isinstance(record, bytes) else record
            except ValueError as error:
                assert sources is not None
                return f"{sources.place} {error}; it and the lines after it were not sent."
            send(producer, topic, draft, deliveries)
    except KeyboardInterrupt:
        return "Interrupted; later lines were not sent."
    except TooLong as error:
        return str(error)
    except OSError as error:
        return f"Cannot read further: {error.strerror}."
    return None


def _conclude(topic: str, deliveries: Deliveries, transaction: Transaction, fault: str | None, summary_as_json: bool) -> None:
    """Print the count. Raises ``Refused`` unless everything was sent and delivered."""
    good = fault is None and not deliveries.failed
    transaction.end(commit=good)
    visible = deliveries.delivered if good or not transaction.is_open else 0
    if summary_as_json:
        print_json({"topic": topic, "delivered": visible, "failed": deliveries.failed})
    else:
        typer.echo(f"Produced {visible} {'record' if visible == 1 else 'records'} to {topic}.")
    aborted = " The transaction was aborted, so consumers see none of its records." if transaction.is_open else ""
    if fault is not None:
        raise Refused(f"{fault}{aborted}")
    if deliveries.failed:
        total = deliveries.failed + deliveries.delivered
        raise Refused(f"{deliveries.failed} of {total} records were not delivered: {deliveries.error}.{aborted}")


def _settings(
    cluster: Cluster, compression: Compression | None, acks: Acks | None, idempotent: bool, timeout: float | None
) -> dict[str, Any]:
    """Only options that were given override the user's own properties."""
    settings: dict[str, Any] = {}
    if compression is not None:
        settings["compression.type"] = compression.value
    if acks is not None:
        settings["acks"] = acks.value
    if idempotent:
        settings["enable.idempotence"] = True
    if timeout is not None or not any(name in cluster.properties for name in _TIMEOUT_SETTINGS):
        settings["message.timeout.ms"] = int((timeout or DELIVERY_SECONDS_MAX) * 1000)
    return settings


def _parse_option(option: str, text: str | None, notation: Notation, encoder: PartEncoder | None) -> bytes | None:
    try:
        if text is None:
            return None
        return encoder.of_text(argument_bytes(text)) if encoder is not None else parse_bytes(argument_bytes(text), notation)
    except ValueError as error:
        raise Refused(f"{option} {error}.") from error


def _separator(option: str, text: str | None) -> bytes | None:
    if text is None:
        return None
    if not (separator := unescape(option, text)):
        raise Refused(f"{option} cannot be empty.")
    return separator
