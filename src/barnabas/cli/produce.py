"""``barnabas produce``: send lines as records.

Whatever stops the reading, the lines read before it are delivered, and the printed count is the
number of records that the broker acknowledged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import typer
from confluent_kafka import KafkaError, KafkaException, Producer

from barnabas.cli.cluster.client import ANSWER_SECONDS_MAX, Bootstrap, Cluster, ConfigFile, Message, error_of, phrase, reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, progress
from barnabas.cli.terminal.overrides import parse_pairs
from barnabas.cli.terminal.record_text import Notation, parse_bytes

# librdkafka's default of five minutes is for services; a user at a terminal has given up by then.
DELIVERY_SECONDS_MAX = 30.0
_ANY_PARTITION = -1
_LINES_BETWEEN_PROGRESS = 1000


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    ALL = "all"
    LEADER = "1"
    NONE = "0"


def register(app: typer.Typer) -> None:
    app.command("produce")(produce)


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    file: Annotated[Path | None, typer.Option("--file", help="Read lines from a file instead of stdin.")] = None,
    key_separator: Annotated[str | None, typer.Option("--key-separator", help="The separator between key and value in a line.")] = None,
    header: Annotated[list[str], typer.Option("--header", metavar="NAME=VALUE", help="A header for every record.")] = [],  # noqa: B006
    partition: Annotated[
        int | None, typer.Option("--partition", min=0, help="The partition of all records; default: by the hash of the key.")
    ] = None,
    compression: Annotated[Compression, typer.Option("--compression")] = Compression.NONE,
    acks: Annotated[Acks, typer.Option("--acks", help="Which replicas must acknowledge a record.")] = Acks.ALL,
    idempotent: Annotated[bool, typer.Option("--idempotent", help="Avoid duplicates on retries.")] = False,
    null_marker: Annotated[str | None, typer.Option("--null-marker", help="A key or value with this text is null.")] = None,
    key_format: Annotated[Notation, typer.Option("--key-format", help="The notation of keys.")] = Notation.TEXT,
    value_format: Annotated[Notation, typer.Option("--value-format", help="The notation of values.")] = Notation.TEXT,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds a record may take until it is acknowledged.")] = (
        DELIVERY_SECONDS_MAX
    ),
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Send lines as records."""
    notation = LineNotation(
        key_separator=key_separator.encode() if key_separator is not None else None,
        null_marker=null_marker.encode() if null_marker is not None else None,
        key_format=key_format,
        value_format=value_format,
    )
    if key_separator == "":
        raise Refused("--key-separator cannot be empty.")
    headers: list[tuple[str, str | bytes | None]] = [(name, value.encode()) for name, value in parse_pairs("--header", header)]
    settings = {
        "compression.type": compression.value,
        "acks": acks.value,
        "enable.idempotence": idempotent,
        "message.timeout.ms": int(timeout * 1000),
    }
    with ExitStack() as open_files:
        lines = open_files.enter_context(_opened(file)) if file is not None else sys.stdin.buffer
        cluster = reach(bootstrap, config_file)
        producer = cluster.producer(settings)
        check_topic(cluster, producer, topic, partition)
        deliveries = Deliveries()
        destination = Destination(topic, _ANY_PARTITION if partition is None else partition, headers)
        fault = _send_lines(producer, destination, lines, notation, deliveries, _size_bytes(file))
    _print_count(topic, deliveries, as_json)
    if fault is not None:
        raise Refused(fault)
    if deliveries.failed:
        raise Refused(f"{deliveries.failed} of {deliveries.failed + deliveries.delivered} records were not delivered: {deliveries.error}.")


class ParsedLine(NamedTuple):
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class LineNotation:
    """The notation of a record in a line."""

    key_separator: bytes | None = None
    null_marker: bytes | None = None
    key_format: Notation = Notation.TEXT
    value_format: Notation = Notation.TEXT

    def parse(self, line: bytes) -> ParsedLine:
        """Raises ``ValueError`` with the problem of the line."""
        if self.key_separator is None:
            return ParsedLine(None, self._part("value", line, self.value_format))
        key, separator, value = line.partition(self.key_separator)
        if not separator:
            raise ValueError(f"has no key separator {self.key_separator.decode()!r}")
        return ParsedLine(self._part("key", key, self.key_format), self._part("value", value, self.value_format))

    def _part(self, what: str, text: bytes, notation: Notation) -> bytes | None:
        if self.null_marker is not None and text == self.null_marker:
            return None
        try:
            return parse_bytes(text, notation)
        except ValueError as error:
            raise ValueError(f"has a {what} that {error}") from error


class Destination(NamedTuple):
    topic: str
    partition: int
    headers: list[tuple[str, str | bytes | None]]


class Deliveries:
    """The outcomes of records, counted by librdkafka's delivery reports."""

    def __init__(self) -> None:
        self.delivered = 0
        self.failed = 0
        self.error = ""  # of the first record that failed

    def report(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.delivered += 1
        else:
            self.fail(error)

    def fail(self, error: KafkaError) -> None:
        self.failed += 1
        self.error = self.error or phrase(error)


def check_topic(cluster: Cluster, producer: Producer, topic: str, partition: int | None = None) -> None:
    """Raises ``Refused`` when the topic does not exist and the cluster does not create topics
    automatically; librdkafka would wait for it."""
    try:
        found = producer.list_topics(topic, timeout=ANSWER_SECONDS_MAX).topics[topic]
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot look up topic {topic}") from error
    if found.error is not None and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise Refused(f"There is no topic {topic}.")
    if found.error is not None and not found.error.retriable() and found.error.code() != KafkaError.LEADER_NOT_AVAILABLE:
        raise Refused(f"Cannot use topic {topic}: {phrase(found.error)}.")
    if partition is not None and found.partitions and partition not in found.partitions:
        raise Refused(f"Topic {topic} has no partition {partition}; it has {len(found.partitions)}.")


def send(producer: Producer, destination: Destination, key: bytes | None, value: bytes | None, deliveries: Deliveries) -> None:
    """Hand one record to librdkafka, waiting while its queue is full."""
    while True:
        try:
            producer.produce(
                destination.topic,
                value=value,
                key=key,
                partition=destination.partition,
                headers=destination.headers,
                on_delivery=deliveries.report,
            )
        except BufferError:
            producer.poll(0.1)
        except KafkaException as error:
            deliveries.fail(error_of(error))
            return
        else:
            producer.poll(0)
            return


def _send_lines(
    producer: Producer, destination: Destination, lines: BinaryIO, notation: LineNotation, deliveries: Deliveries, size_bytes: int | None
) -> str | None:
    """The reason when reading ended before the lines did, or None. When this returns, every line
    that was read is delivered or has failed."""
    fault = None
    with progress("Producing", size_bytes) as show:
        try:
            for number, line in enumerate(_lines(lines), start=1):
                try:
                    key, value = notation.parse(line)
                except ValueError as error:
                    fault = f"Line {number} {error}; it and the lines after it were not sent."
                    break
                send(producer, destination, key, value, deliveries)
                if number % _LINES_BETWEEN_PROGRESS == 0 and size_bytes is not None:
                    show(lines.tell())
        except KeyboardInterrupt:
            fault = "Interrupted; later lines were not sent."
        except OSError as error:
            fault = f"Cannot read further: {error.strerror}."
        producer.flush()
    return fault


def _lines(source: BinaryIO) -> Iterator[bytes]:
    for line in source:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error


def _size_bytes(path: Path | None) -> int | None:
    return os.stat(path).st_size if path is not None else None


def _print_count(topic: str, deliveries: Deliveries, as_json: bool) -> None:
    if as_json:
        print_json({"topic": topic, "delivered": deliveries.delivered, "failed": deliveries.failed})
    else:
        typer.echo(f"Produced {deliveries.delivered} {'record' if deliveries.delivered == 1 else 'records'} to {topic}.")
