"""``barnabas consume``: the options, and what follows from their combinations."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer
from confluent_kafka import Consumer, KafkaException

from barnabas.cli.cluster.client import Bootstrap, Cluster, ConfigFile, reach
from barnabas.cli.consume.assigned import BoundedPartitions, FollowedPartitions
from barnabas.cli.consume.assignment import check_patterns, choose_topics, is_pattern, partitions_of, resolve_ranges
from barnabas.cli.consume.filter import parse_filter
from barnabas.cli.consume.json_lines import json_renderer
from barnabas.cli.consume.membership import Membership
from barnabas.cli.consume.pretty import palette_of_terminal, pretty_record_renderer, pretty_value_renderer
from barnabas.cli.consume.reading import Keep, Limits, RecordPrinter, Source
from barnabas.cli.consume.sharing import Acknowledgement, ShareMembership, share_settings
from barnabas.cli.consume.span import AtEarliest, AtTime, BeforeEnd, Span, parse_offset
from barnabas.cli.consume.template import Render, Spelling, template_renderer
from barnabas.cli.errors import Refused
from barnabas.cli.registry_records.decoded_output import DecodedOutput
from barnabas.cli.registry_records.formats import Format
from barnabas.cli.registry_records.options import RegistryLogin, RegistryUrl, ShownKeys, ShownValues
from barnabas.cli.terminal.escapes import argument_bytes, unescape
from barnabas.cli.terminal.record_text import Notation
from barnabas.cli.terminal.times import TIME, parse_time_ms

_NULL = "NULL"


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


def register(app: typer.Typer) -> None:
    app.command("consume")(consume)


def consume(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC", help="Names of topics, or patterns that begin with ^.")],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="The same as --offset earliest.")] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="N|-N|A:B",
            help="Where to start in each partition: an offset, N records before the end, earliest or latest. "
            "A range stops before its end: 10:20, -5:, :20, 10:+5.",
        ),
    ] = None,
    from_time: Annotated[
        str | None,
        typer.Option("--from-time", metavar=TIME, help="Start with the first record at or after this time."),
    ] = None,
    to_time: Annotated[
        str | None,
        typer.Option("--to-time", metavar=TIME, help="Stop before the first record at or after this time, or at the end."),
    ] = None,
    partition: Annotated[list[int], typer.Option("--partition", "-p", min=0, help="Only these partitions; default: all.")] = [],  # noqa: B006
    group: Annotated[
        str | None,
        typer.Option("--group", "-G", metavar="GROUP", help="Join this consumer group, start at its offsets, and commit what was printed."),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="GROUP", help="Join this share group, and acknowledge what was printed."),
    ] = None,
    acknowledgement: Annotated[
        Acknowledgement,
        typer.Option(
            "--ack", help="How to acknowledge records of a share group: done with it, deliver it again, or never deliver it again."
        ),
    ] = Acknowledgement.ACCEPT,
    condition: Annotated[
        str | None,
        typer.Option("--filter", metavar="CONDITION", help="""Only records for which this is true: '.user.id == 7 and key != "x"'."""),
    ] = None,
    records_max: Annotated[int | None, typer.Option("--max", "-c", min=1, help="Stop after this many printed records.")] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Stop after this many seconds without a record.")] = None,
    until_end: Annotated[
        bool,
        typer.Option("--until-end", "-e", help="Stop at the end that each partition has now. Without a start, read everything up to it."),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on after the end. This is the default, unless --offset or --to-time names an end.")
    ] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="What to print for a record: %t topic, %p partition, %o offset, %k key, %s value, %K and %S their lengths, "
            "%T timestamp, %h headers, %R binary length of the value; \\n, \\t and \\xNN.",
        ),
    ] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", help="Print keys too, with this between key and value.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", "-D", help="What to print after each record; default: \\n.")] = None,
    null_marker: Annotated[
        str | None, typer.Option("--null-marker", help="What to print for a null key or value; default: nothing.")
    ] = None,
    null_as_word: Annotated[bool, typer.Option("-Z", help="The same as --null-marker NULL.")] = False,
    key_format: ShownKeys = None,
    value_format: ShownValues = None,
    registry: RegistryUrl = None,
    registry_login: RegistryLogin = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per record, which produce --json takes back.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Escape and colour nothing on a terminal.")] = False,
    isolation: Annotated[Isolation, typer.Option("--isolation", help="Whether to print records of open and aborted transactions.")] = (
        Isolation.READ_COMMITTED
    ),
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Print records as they come, until Ctrl-C, --max, --timeout, --until-end or the end of a
    range."""
    usual = Format.TEXT if registry is None else Format.AUTO
    keys, values = key_format or usual, value_format or usual
    looks = Looks(
        template=template,
        key_separator=_unescaped("--key-separator", key_separator),
        delimiter=_unescaped("--delimiter", delimiter),
        null_marker=argument_bytes(_NULL if null_as_word else null_marker or ""),
        key_format=keys.notation,
        value_format=values.notation,
        as_json=as_json,
    )
    if null_as_word and null_marker is not None:
        raise Refused("-Z is --null-marker NULL: give one of them.")
    span = parse_span(from_beginning, offset, from_time, to_time, until_end=until_end, follow=follow)
    render = looks.renderer(terminal=sys.stdout.isatty() and not raw)
    keep = None if condition is None else parse_filter(condition)
    reading = Reading(topics, partition, span, isolation)
    check_patterns(topics)
    limits = Limits(records_max, timeout)
    if registry is not None and not (keys.needs_registry or values.needs_registry):
        raise Refused("--registry is for keys or values with schemas: their format is avro, json_schema, protobuf or auto.")
    decoded = DecodedOutput(keys, values, registry, registry_login)
    if share is not None:
        reading.check_share(share, group)
        cluster = reach(bootstrap, config_file)
        with decoded.of(cluster, render, keep) as (render, keep):
            _consume_shared(cluster, share, topics, acknowledgement, render, keep, limits)
        return
    if acknowledgement is not Acknowledgement.ACCEPT:
        raise Refused("--ack is for records of a share group: name one with --share.")
    if group is not None:
        reading.check_group(group)
    cluster = reach(bootstrap, config_file)
    with decoded.of(cluster, render, keep) as (render, keep):
        _consume(cluster, reading, group, render, keep, limits)


def _consume(cluster: Cluster, reading: Reading, group: str | None, render: Render, keep: Keep | None, limits: Limits) -> None:
    out = sys.stdout.buffer
    consumer = cluster.consumer(reading.settings(group))
    try:
        source = reading.assigned(cluster, consumer) if group is None else reading.subscribed(cluster, consumer, out.flush)
        printer = RecordPrinter(out, render, keep, source, limits)
        with _commit_at_the_end(source, out.flush):
            printer.run(consumer)
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot consume {', '.join(reading.arguments)}") from error
    except KeyboardInterrupt:
        # Ctrl-C is the normal way to stop a consumer, not a failure.
        pass
    finally:
        consumer.close()


def _consume_shared(
    cluster: Cluster,
    group: str,
    topics: list[str],
    acknowledgement: Acknowledgement,
    render: Render,
    keep: Keep | None,
    limits: Limits,
) -> None:
    # librdkafka would wait for topics that do not exist yet; a name with a typing error never will.
    partitions_of(cluster, topics, ())
    consumer = cluster.share_consumer(share_settings(group, limits.records))
    try:
        consumer.subscribe(list(dict.fromkeys(topics)))
        ShareMembership(consumer, acknowledgement, sys.stdout.buffer).run(render, keep, limits)
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot consume {', '.join(topics)}") from error
    except KeyboardInterrupt:
        pass
    finally:
        # Sends the last acknowledgements and leaves the group.
        consumer.close()


@dataclass(frozen=True, slots=True)
class Looks:
    """The options that say how a record is printed."""

    template: str | None
    key_separator: bytes | None
    delimiter: bytes | None
    null_marker: bytes
    key_format: Notation
    value_format: Notation
    as_json: bool

    def renderer(self, *, terminal: bool) -> Render:
        """Raises ``Refused`` for options that contradict each other."""
        if self.as_json and self.template is not None:
            raise Refused("--json and --format are two ways to print a record: give one of them.")
        if self.as_json or self.template is not None:
            for option, value in (("--key-separator", self.key_separator), ("--delimiter", self.delimiter)):
                if value is not None:
                    raise Refused(f"{option} is for lines without --format and --json, which say themselves how a record looks.")
        spelling = Spelling(self.key_format, self.value_format, self.null_marker, safe=terminal)
        if self.template is not None:
            return template_renderer(self.template, spelling)
        if self.as_json:
            return (
                pretty_record_renderer(spelling, palette_of_terminal()) if terminal else json_renderer(self.key_format, self.value_format)
            )
        if terminal and self.delimiter is None:
            return pretty_value_renderer(spelling, self.key_separator, palette_of_terminal())
        return self._lines(spelling)

    def _lines(self, spelling: Spelling) -> Render:
        value = template_renderer("%s", spelling)
        delimiter = b"\n" if self.delimiter is None else self.delimiter
        if self.key_separator is None:
            return lambda message: value(message) + delimiter
        key, separator = template_renderer("%k", spelling), self.key_separator
        return lambda message: key(message) + separator + value(message) + delimiter


@dataclass(frozen=True, slots=True)
class Reading:
    """The options that say which records are read."""

    arguments: list[str]
    partitions: list[int]
    span: Span
    isolation: Isolation

    def check_group(self, group: str) -> None:
        if not group:
            raise Refused("--group cannot be empty.")
        if self.partitions:
            raise Refused("--group assigns the partitions, so --partition cannot choose them.")
        if self.span.start not in (AtEarliest(), BeforeEnd()) or self.span.end not in (None, BeforeEnd()):
            raise Refused("--group starts at the offsets of the group: --offset takes only earliest or latest, for partitions without one.")

    def check_share(self, share: str, group: str | None) -> None:
        if not share:
            raise Refused("--share cannot be empty.")
        if group is not None:
            raise Refused("--share and --group join groups of different kinds: give one of them.")
        if self.partitions:
            raise Refused("--share assigns the partitions, so --partition cannot choose them.")
        if any(is_pattern(each) for each in self.arguments):
            raise Refused("A share group subscribes to topics by their names, and not by patterns.")
        if self.span != Span(BeforeEnd()):
            raise Refused(
                "--share starts where the group is. `barnabas share-groups reset-offsets` moves it, and the group's setting "
                "share.auto.offset.reset chooses the start of a new one."
            )
        if self.isolation is not Isolation.READ_COMMITTED:
            raise Refused("The group's setting share.isolation.level decides whether --share reads records of open transactions.")

    def settings(self, group: str | None) -> dict[str, Any]:
        settings: dict[str, Any] = {"isolation.level": self.isolation.value, "error_cb": lambda _: None, "auto.offset.reset": "error"}
        if group is not None:
            settings |= {"group.id": group, "auto.offset.reset": "earliest" if self.span.start == AtEarliest() else "latest"}
        if self.span.end is not None:
            # librdkafka reports the end of a partition with the first empty response, so the broker
            # should not hold that response back to wait for more records.
            settings |= {"enable.partition.eof": True, "fetch.wait.max.ms": 10}
        return settings

    def assigned(self, cluster: Cluster, consumer: Consumer) -> Source:
        partitions = partitions_of(cluster, choose_topics(cluster, self.arguments), self.partitions)
        ranges = resolve_ranges(consumer, self.span, partitions)
        if self.span.end is not None:
            return BoundedPartitions(consumer, ranges)
        return FollowedPartitions(consumer, ranges, self.arguments, all_partitions=not self.partitions)

    def subscribed(self, cluster: Cluster, consumer: Consumer, flush: Any) -> Source:
        # librdkafka would wait for topics that do not exist yet; a name with a typing error never
        # will.
        partitions_of(cluster, [each for each in self.arguments if not is_pattern(each)], ())
        return Membership(consumer, self.arguments, flush, until_end=self.span.end is not None)


@contextmanager
def _commit_at_the_end(source: Source, flush: Any) -> Iterator[None]:
    """A member of a group commits what it has printed, also when a signal ends it."""
    if not isinstance(source, Membership):
        yield
        return
    member = source

    def stop(*_: object) -> None:
        # An exception could come between the output of a record and the note about it. The second
        # signal raises one, for output that nothing reads.
        if member.stopped:
            raise KeyboardInterrupt
        member.stopped = True

    previous = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
    flush()
    source.leave()


def parse_span(
    from_beginning: bool,
    offset: str | None = None,
    from_time: str | None = None,
    to_time: str | None = None,
    *,
    until_end: bool = False,
    follow: bool = False,
) -> Span:
    """Raises ``Refused`` for options that contradict each other."""
    if from_beginning + (offset is not None) + (from_time is not None) > 1:
        raise Refused("--from-beginning, --offset and --from-time each choose where to start: give one of them.")
    now_ms = time.time_ns() // 1_000_000
    # From the end to an end there is nothing to read, so an end alone means everything before it.
    span = Span(AtEarliest() if from_beginning or to_time is not None or until_end else BeforeEnd())
    if offset is not None:
        span = parse_offset(offset)
    elif from_time is not None:
        span = Span(AtTime(parse_time_ms("--from-time", from_time, now_ms=now_ms)))
    if to_time is not None:
        if span.end is not None:
            raise Refused("--to-time and the range of --offset each choose an end: give one of them.")
        span = Span(span.start, AtTime(parse_time_ms("--to-time", to_time, now_ms=now_ms)))
    if until_end and span.end is None:
        span = Span(span.start, BeforeEnd())
    if follow and span.end is not None:
        raise Refused("--follow goes on after the end, but --until-end, --to-time or the range of --offset stops there.")
    return span


def _unescaped(option: str, text: str | None) -> bytes | None:
    return None if text is None else unescape(option, text)
