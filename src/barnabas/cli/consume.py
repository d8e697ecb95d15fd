"""``barnabas consume``: print records as lines.

Partitions are assigned, not subscribed to: the command joins no group and commits nothing, so it
does not disturb the topic's consumers. The start offset of each partition is decided once, before
the first record is read.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from confluent_kafka import OFFSET_END, TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, TopicPartition

from barnabas.cli.cluster.client import ANSWER_SECONDS_MAX, PARTITION_EOF, Bootstrap, Cluster, ConfigFile, Message, reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.record_text import Notation, json_bytes, show_bytes

# How long it may take to notice a signal or --timeout.
_POLL_SECONDS = 0.2
# Errors that librdkafka reports while it keeps trying.
_PASSING = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT})  # noqa: SLF001
_DEFAULT_FORMAT = "%v"
_NULL = b"null"


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


def register(app: typer.Typer) -> None:
    app.command("consume")(consume)


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="The same as --offset earliest.")] = False,
    offset: Annotated[
        str | None,
        typer.Option("--offset", metavar="N|earliest|latest|-N", help="Where to start in each partition; -N is N records before the end."),
    ] = None,
    from_time: Annotated[
        str | None,
        typer.Option("--from-time", metavar="ISO", help="Start with the first record at or after this time, e.g. 2026-07-01T12:00Z."),
    ] = None,
    partition: Annotated[list[int], typer.Option("--partition", min=0, help="Only these partitions; default: all.")] = [],  # noqa: B006
    records_max: Annotated[int | None, typer.Option("--max", min=1, help="Stop after this many records.")] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Stop after this many seconds without a record.")] = None,
    until_end: Annotated[bool, typer.Option("--until-end", help="Stop at the end that each partition has at the start.")] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="A line per record: %k key, %v value, %o offset, %p partition, %t timestamp in ms, %h headers, %% a percent sign.",
        ),
    ] = None,
    key_format: Annotated[Notation, typer.Option("--key-format", help="How to print keys.")] = Notation.TEXT,
    value_format: Annotated[Notation, typer.Option("--value-format", help="How to print values.")] = Notation.TEXT,
    isolation: Annotated[Isolation, typer.Option("--isolation", help="Whether to print records of open and aborted transactions.")] = (
        Isolation.READ_COMMITTED
    ),
    group: Annotated[str | None, typer.Option("--group", help="Not supported yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per record.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Print records as they come, until Ctrl-C, --max, --timeout or --until-end."""
    if group is not None:
        raise Refused("--group is not supported yet: this command reads partitions without a consumer group.")
    if as_json and template is not None:
        raise Refused("--json and --format are two ways to print a record: give one of them.")
    start = parse_start(from_beginning, offset, from_time)
    render = (
        json_renderer(key_format, value_format) if as_json else template_renderer(template or _DEFAULT_FORMAT, key_format, value_format)
    )
    cluster = reach(bootstrap, config_file)
    partitions = choose_partitions(cluster, topic, partition)
    settings: dict[str, Any] = {"isolation.level": isolation.value, "auto.offset.reset": "error", "error_cb": lambda _: None}
    if until_end:
        # librdkafka reports the end of a partition with the first empty response, so the broker
        # should not hold that response back to wait for more records.
        settings |= {"enable.partition.eof": True, "fetch.wait.max.ms": 10}
    consumer = cluster.consumer(settings)
    try:
        consumer.assign(start.resolve(consumer, topic, partitions))
        _print_records(consumer, render, Limits(records_max, timeout, len(partitions) if until_end else None))
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot consume {topic}") from error
    except KeyboardInterrupt:
        # Ctrl-C is the normal way to stop a consumer, not a failure.
        pass
    finally:
        consumer.close()


def choose_partitions(cluster: Cluster, topic: str, wanted: list[int]) -> list[int]:
    found = sorted(each.id for each in cluster.admin().describe_topics([topic])[topic].partitions)
    for each in wanted:
        if each not in found:
            raise Refused(f"Topic {topic} has no partition {each}; it has {len(found)}.")
    return sorted(set(wanted)) or found


@dataclass(frozen=True, slots=True)
class Limits:
    """The conditions that end the reading; None where there is none."""

    records: int | None = None
    idle_seconds: float | None = None
    ends: int | None = None  # partitions to read to their end


def _print_records(consumer: Consumer, render: Callable[[Message], bytes], limits: Limits) -> None:
    out = sys.stdout.buffer
    count = 0
    at_end: set[int] = set()
    last_record = time.monotonic()
    while (limits.records is None or count < limits.records) and (limits.ends is None or len(at_end) < limits.ends):
        message: Message = consumer.poll(0)  # or None
        if message is None:
            # No record is ready: flush, so that the reader of our output sees all records before we
            # wait.
            out.flush()
            message = consumer.poll(_POLL_SECONDS)
        if message is None:
            if limits.idle_seconds is not None and time.monotonic() - last_record >= limits.idle_seconds:
                break
            continue
        error = message.error()
        if error is None:
            out.write(render(message))
            count += 1
            last_record = time.monotonic()
        elif error.code() == PARTITION_EOF:
            at_end.add(message.partition())
        elif error.code() not in _PASSING:
            raise KafkaException(error)
    out.flush()


@dataclass(frozen=True, slots=True)
class AtOffset:
    offset: int

    def resolve(self, consumer: Consumer, topic: str, partitions: list[int]) -> list[TopicPartition]:
        return [TopicPartition(topic, each, self.offset) for each in partitions]


@dataclass(frozen=True, slots=True)
class AtEarliest:
    def resolve(self, consumer: Consumer, topic: str, partitions: list[int]) -> list[TopicPartition]:
        return [TopicPartition(topic, each, ends_of(consumer, topic, each)[0]) for each in partitions]


@dataclass(frozen=True, slots=True)
class BeforeEnd:
    count: int

    def resolve(self, consumer: Consumer, topic: str, partitions: list[int]) -> list[TopicPartition]:
        starts = []
        for each in partitions:
            low, high = ends_of(consumer, topic, each)
            starts.append(TopicPartition(topic, each, max(low, high - self.count)))
        return starts


@dataclass(frozen=True, slots=True)
class AtTime:
    timestamp_ms: int

    def resolve(self, consumer: Consumer, topic: str, partitions: list[int]) -> list[TopicPartition]:
        wanted = [TopicPartition(topic, each, self.timestamp_ms) for each in partitions]
        found = consumer.offsets_for_times(wanted, timeout=ANSWER_SECONDS_MAX)
        return [TopicPartition(topic, each.partition, each.offset if each.offset >= 0 else OFFSET_END) for each in found]


Start = AtOffset | AtEarliest | BeforeEnd | AtTime


def ends_of(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """The first offset of a partition and the offset after its last record, as numbers. Given
    librdkafka's symbolic offsets instead, a consumer first asks a leader that it does not know yet,
    and then waits for half a second."""
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ANSWER_SECONDS_MAX)
    return low, high


def parse_start(from_beginning: bool, offset: str | None, from_time: str | None) -> Start:
    if from_beginning + (offset is not None) + (from_time is not None) > 1:
        raise Refused("--from-beginning, --offset and --from-time each choose where to start: give one of them.")
    if from_time is not None:
        return AtTime(_parse_time_ms(from_time))
    match offset:
        case None:
            return AtEarliest() if from_beginning else BeforeEnd(0)
        case "earliest":
            return AtEarliest()
        case "latest":
            return BeforeEnd(0)
        case _ if re.fullmatch(r"-?\d{1,18}", offset):
            return BeforeEnd(-int(offset)) if offset.startswith("-") else AtOffset(int(offset))
        case _:
            raise Refused(f"--offset takes a number, earliest or latest, but was given {offset!r}.")


def _parse_time_ms(text: str) -> int:
    """A time without a zone is in this machine's zone."""
    try:
        return int(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise Refused(f"--from-time takes a time such as 2026-07-01T12:00:00Z, but was given {text!r}.") from error


def template_renderer(template: str, key_format: Notation, value_format: Notation) -> Callable[[Message], bytes]:
    """A line per record: a newline is added unless the template ends with one."""
    fields: dict[str, Callable[[Message], bytes]] = {
        "k": lambda message: _shown(message.key(), key_format),
        "v": lambda message: _shown(message.value(), value_format),
        "o": lambda message: b"%d" % message.offset(),
        "p": lambda message: b"%d" % message.partition(),
        "t": lambda message: b"%d" % message.timestamp()[1],
        "h": _shown_headers,
        "%": lambda _: b"%",
    }
    pieces: list[Callable[[Message], bytes] | bytes] = []
    for text, mark, field in re.findall(r"([^%]*)(?:(%)(.?))?", _unescape(template), re.DOTALL):
        if text:
            pieces.append(text.encode())
        if mark:
            if field not in fields:
                raise Refused(f"--format supports %k, %v, %o, %p, %t, %h and %%, but not %{field}.")
            pieces.append(fields[field])
    if not pieces or not isinstance(pieces[-1], bytes) or not pieces[-1].endswith(b"\n"):
        pieces.append(b"\n")
    return lambda message: b"".join(piece if isinstance(piece, bytes) else piece(message) for piece in pieces)


def _unescape(template: str) -> str:
    return template.replace("\\n", "\n").replace("\\t", "\t")


def _shown(data: bytes | None, notation: Notation) -> bytes:
    return _NULL if data is None else show_bytes(data, notation)


def _shown_headers(message: Message) -> bytes:
    return b",".join(name.encode() + b"=" + _shown(value, Notation.TEXT) for name, value in message.headers() or [])


def json_renderer(key_format: Notation, value_format: Notation) -> Callable[[Message], bytes]:
    def render(message: Message) -> bytes:
        kind, timestamp = message.timestamp()
        record: dict[str, Any] = {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "timestamp": timestamp,
            "timestamp_type": "LogAppendTime" if kind == TIMESTAMP_LOG_APPEND_TIME else "CreateTime",
            **json_bytes("key", message.key(), key_format),
            **json_bytes("value", message.value(), value_format),
            "headers": [{"name": name, **json_bytes("value", value)} for name, value in message.headers() or []],
        }
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"

    return render
