"""Records of a topic: lists, one record, search, and its address ``topic/partition/offset``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from barnabas.console.access.catalog import topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.offsets import At, bounds, list_offsets
from barnabas.console.access.record_decoder import RecordDecoder
from barnabas.console.access.record_pages import Condition, RecordPage, page_forward, page_newest
from barnabas.console.access.record_reading import fetch
from barnabas.console.access.shown_records import FilteredRecord, ShownRecord, shown
from barnabas.console.core.copy_as import Snippet, snippets
from barnabas.console.core.decoding.decoder_choice import CHOICES, DecoderChoice, chosen, decoders_of
from barnabas.console.core.decoding.detection import SHOWN_CHARACTERS_MAX
from barnabas.console.core.fetched_batches import Opening
from barnabas.console.core.positions import chosen_partitions, positions_text, read_positions, within
from barnabas.console.core.record import ReadRecord
from barnabas.console.core.record_request import read_bytes
from barnabas.console.core.topic import Bounds, Topic, TopicPartition
from barnabas.console.errors import BadValue, NotFound
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Stream, view
from barnabas.console.web.parameters import Parameter
from barnabas.model.key_partition import partition_of
from barnabas.record_filter.grammar import FILTER_LENGTH_MAX, FilterRefused, parse_filter

RECORDS_MAX: Final = 500
# Bytes that the page of one record asks for; a larger record comes anyway.
_ONE_RECORD_BYTES: Final = 64 * 1024
_BEGINNINGS: Final = ("newest", "oldest", "offset", "time")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """For the slider: the timestamps of the first and the last record."""

    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True)
class RecordList:
    topic: str
    partitions: str
    begin: str
    offset: int | None
    time: str
    key: str
    key_format: str
    filter: str
    size: int
    records: list[ShownRecord]
    total_max: int
    """Offsets of the chosen partitions."""
    scanned: int
    share: float
    """How much of the way to the end was read, from 0 to 1."""
    is_complete: bool
    next_positions: str | None
    """Parameter ``positions`` of the next page; None at the end."""
    problems: list[str]
    span: TimeSpan
    showing: dict[str, str]
    """The parameters that choose decoders; empty texts where none is chosen."""


@dataclass(frozen=True, slots=True)
class RecordView:
    record: ShownRecord
    previous: int | None
    next: int | None
    start_offset: int
    end_offset: int
    key_base64: str
    value_base64: str
    snippets: list[Snippet]
    """Commands and programs that read this record."""
    showing: dict[str, str]


@dataclass(frozen=True, slots=True)
class Selection:
    """The records that the parameters of a call ask for."""

    topic: Topic
    bounds: dict[int, Bounds]
    """Of the chosen partitions."""
    starts: dict[int, int]
    condition: Condition | None
    needle: bytes | None
    """The key that all records have; a batch without these bytes has none of them."""
    decoder: RecordDecoder


async def list_records(call: Call) -> RecordList:
    client = call.cluster
    begin, size = call.text("begin"), call.number("size")
    selection = await selected(call, client)
    newest = begin == "newest" and selection.condition is None
    page, span = await asyncio.gather(
        _newest(call, client, selection) if newest else _forward(call, client, selection), _time_span(client, selection.topic)
    )
    records = await client.run(_all_shown, page.records, selection.decoder)
    return RecordList(
        selection.topic.name,
        call.text("partitions"),
        begin,
        call.optional_number("offset"),
        call.text("time"),
        call.text("key"),
        call.text("key_format"),
        call.text("filter"),
        size,
        records,
        sum(each.end - each.start for each in selection.bounds.values()),
        page.scanned,
        page.share,
        page.is_complete,
        None if page.is_complete else positions_text(page.positions),
        page.problems,
        span,
        showing_of(call),
    )


async def selected(call: Call, client: ClusterClient) -> Selection:
    """Reads the parameters that lists, searches, exports and tails share."""
    found = await topic(client, call.text("topic"))
    condition = condition_of(call)
    partitions = chosen_partitions(call.text("partitions"), [each.id for each in found.partitions])
    key = call.text("key")
    if key and call.text("partitions") == "":
        partitions = [partition_of(read_bytes(key, call.text("key_format"), "key") or b"", len(found.partitions))]
    ends = await bounds(client, [found])
    known = {each: ends[TopicPartition(found.name, each)] for each in partitions if TopicPartition(found.name, each) in ends}
    if not known and partitions:
        raise NotFound(f"No leader of the topic {found.name} answers about these partitions.")
    starts = await _starts(call, client, found, known)
    return Selection(found, known, starts, condition, _key_bytes(call), decoder_of(call))


async def _starts(call: Call, client: ClusterClient, found: Topic, known: Mapping[int, Bounds]) -> dict[int, int]:
    if call.text("positions"):
        return within(read_positions(call.text("positions")), known)
    match call.text("begin"):
        case "offset":
            offset = call.optional_number("offset")
            if offset is None:
                raise BadValue("offset is missing.", "offset")
            return within(dict.fromkeys(known, offset), known)
        case "time":
            timestamp = read_time(call.text("time"))
            places = {TopicPartition(found.name, each): timestamp for each in known}
            offsets = await list_offsets(client, [found], places)
            # A partition without a record that young has nothing to show.
            wanted = {place.partition: each.offset if each.offset >= 0 else known[place.partition].end for place, each in offsets.items()}
            return within(wanted, known)
    return {each: bound.start for each, bound in known.items()}


def condition_of(call: Call) -> Condition | None:
    text, wanted_key = call.text("filter"), _key_bytes(call)
    try:
        filtering = parse_filter(text) if text.strip() else None
    except FilterRefused as refused:
        raise BadValue(str(refused), "filter") from None
    if wanted_key is None and filtering is None:
        return None

    def matches(record: FilteredRecord) -> bool:
        return (wanted_key is None or record.key_bytes == wanted_key) and (filtering is None or filtering(record))

    return matches


def _key_bytes(call: Call) -> bytes | None:
    key = call.text("key")
    return read_bytes(key, call.text("key_format"), "key") if key else None


def read_time(text: str) -> int:
    """Milliseconds since 1970, or a moment such as 2026-01-31T12:00; UTC if it names no zone."""
    if text.strip().isdecimal():
        return int(text.strip()[:18])
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadValue("time is a moment such as 2026-01-31T12:00:00Z, or milliseconds since 1970.", "time") from None
    return int((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000)


async def _newest(call: Call, client: ClusterClient, selection: Selection) -> RecordPage:
    positions = call.text("positions")
    ends = selection.starts if positions else {each: bound.end for each, bound in selection.bounds.items()}
    limited = {each: Bounds(selection.bounds[each].start, end) for each, end in ends.items()}
    return await page_newest(
        client, selection.topic, limited, call.number("size"), decoder=selection.decoder, with_control=call.flag("control")
    )


async def _forward(call: Call, client: ClusterClient, selection: Selection) -> RecordPage:
    ends = {each: bound.end for each, bound in selection.bounds.items()}
    return await page_forward(
        client,
        selection.topic,
        selection.starts,
        ends,
        call.number("size"),
        condition=selection.condition,
        decoder=selection.decoder,
        with_control=call.flag("control"),
        needle=selection.needle,
    )


async def _time_span(client: ClusterClient, found: Topic) -> TimeSpan:
    """The first timestamp is that of the first record: ListOffsets has no question for the least
    one, and finds the first record that is at least as young as 1970."""
    first, last = await asyncio.gather(list_offsets(client, [found], 0), list_offsets(client, [found], At.MAX_TIMESTAMP))
    firsts = [each.timestamp for each in first.values() if each.timestamp >= 0]
    lasts = [each.timestamp for each in last.values() if each.timestamp >= 0]
    return TimeSpan(min(firsts, default=None), max(lasts, default=None))


def _all_shown(records: list[ReadRecord], decoder: RecordDecoder) -> list[ShownRecord]:
    return [shown(each, decoder) for each in records]


def decoder_of(call: Call) -> RecordDecoder:
    """As the parameters of the call choose it, or the file of the console."""
    client, name = call.cluster, call.text("topic")
    configured = decoders_of(name, client.settings.decoders)

    def choice(part: str, file: DecoderChoice) -> DecoderChoice:
        page = DecoderChoice(call.text(f"show_{part}"), call.text(f"{part}_subject"), call.text(f"{part}_message"))
        return chosen(name, part, page=page, file=file)

    return RecordDecoder(client.schemas, choice("key", configured.key), choice("value", configured.value))


def showing_of(call: Call) -> dict[str, str]:
    given = {each.name: call.text(each.name) for each in SHOWING}
    return {name: "" if value == "auto" else value for name, value in given.items()}


async def show_record(call: Call) -> RecordView:
    import base64

    record, start, end = await read_one(call)
    made = await call.cluster.run(shown, record, decoder_of(call), characters_max=SHOWN_CHARACTERS_MAX, indent=2)
    # A form that sends the record again carries its bytes, if they are not too many for one.
    small = len(record.key or b"") + len(record.value or b"") <= SHOWN_CHARACTERS_MAX
    return RecordView(
        made,
        record.offset - 1 if record.offset > start else None,
        record.offset + 1 if record.offset + 1 < end else None,
        start,
        end,
        base64.b64encode(record.key or b"").decode() if small else "",
        base64.b64encode(record.value or b"").decode() if small else "",
        snippets(call.cluster.settings.bootstrap, record.topic, record.partition, record.offset),
        showing_of(call),
    )


async def read_one(call: Call) -> tuple[ReadRecord, int, int]:
    """The record of the path, or the next one if compaction removed it; and the bounds of its
    partition."""
    client, partition, offset = call.cluster, _number(call, "partition"), _number(call, "offset")
    found = await topic(client, call.text("topic"))
    if partition not in {each.id for each in found.partitions}:
        raise NotFound(f"Topic {found.name} has no partition {partition}.")
    deadline = time.monotonic() + 10
    position = offset
    while True:
        answer = (await fetch(client, found, {partition: position}, partition_bytes_max=_ONE_RECORD_BYTES, opening=Opening(1)))[partition]
        if answer.error is not None:
            raise NotFound(f"There is no record {found.name}/{partition}/{offset}: {answer.error}")
        record = next((each for each in answer.opened.records if each.offset >= offset), None)
        if record is not None:
            return record, answer.start_offset, answer.end_offset
        position = answer.opened.next_offset
        if position >= answer.end_offset or answer.opened.unreadable or time.monotonic() > deadline:
            problem = answer.opened.unreadable[0] if answer.opened.unreadable else "The partition has no record there."
            raise NotFound(f"There is no record {found.name}/{partition}/{offset}. {problem}")


async def download_value(call: Call) -> Stream:
    record, _, _ = await read_one(call)

    async def whole() -> AsyncIterator[bytes]:
        yield record.value or b""

    return Stream(whole(), "application/octet-stream", f"{record.topic}-{record.partition}-{record.offset}.bin")


def _number(call: Call, name: str) -> int:
    text = call.path[name]
    if not text.isdecimal() or len(text) > 18:
        raise NotFound(f"The {name} of a record is a number.")
    return int(text)


SELECTION: Final = (
    Parameter("partitions", "Partitions, such as 0,2-4; all if empty.", default=""),
    Parameter("begin", "Where to begin.", default="newest", choices=_BEGINNINGS),
    Parameter("offset", "The offset, for begin=offset.", int, minimum=0),
    Parameter("time", "The moment, for begin=time.", default=""),
    Parameter("positions", "Where a page before this one ended: partition:offset, separated by commas.", default="", maximum=20_000),
    Parameter("key", "Only records with this key; only the partition of the key is read.", default="", maximum=10_000),
    Parameter("key_format", "How the key is written.", default="text", choices=("text", "json", "hex", "base64")),
    Parameter("filter", 'A condition, such as .amount > 100 and headers.type == "order".', default="", maximum=FILTER_LENGTH_MAX),
    Parameter("control", "Whether records of the cluster itself, such as commits, are shown.", bool, False),
)
SHOWING: Final = (
    Parameter("show_key", "The format of keys: auto is that of the console's file, or detected.", default="auto", choices=CHOICES),
    Parameter("show_value", "The format of values: auto is that of the console's file, or detected.", default="auto", choices=CHOICES),
    Parameter("key_subject", "The subject whose latest schema decodes keys that name none; TOPIC-key if empty.", default=""),
    Parameter("value_subject", "The subject whose latest schema decodes values that name none; TOPIC-value if empty.", default=""),
    Parameter("key_message", "The Protobuf message of keys; the first of the schema if empty.", default=""),
    Parameter("value_message", "The Protobuf message of values; the first of the schema if empty.", default=""),
)

OPERATIONS: Final = (
    view(
        "list_records",
        "/clusters/{cluster}/topics/{topic}/records",
        list_records,
        summary="Records of a topic: the newest, or from a place on, or those that match.",
        page="records/list.html",
        parameters=(*SELECTION, *SHOWING, Parameter("size", "Records on the page.", int, 25, minimum=1, maximum=RECORDS_MAX)),
    ),
    view(
        "show_record",
        "/clusters/{cluster}/topics/{topic}/records/{partition}/{offset}",
        show_record,
        summary="One record with its headers, its batch and its transaction.",
        page="records/show.html",
        parameters=SHOWING,
    ),
    view(
        "download_value",
        "/clusters/{cluster}/topics/{topic}/records/{partition}/{offset}/value",
        download_value,
        summary="The bytes of the value of a record.",
    ),
)
