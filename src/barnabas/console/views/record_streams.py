"""Records while they are read: searches with progress, live tails, and exports.

Searches and tails are server-sent events. A browser that closes its connection stops the reading.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from barnabas.console.access.catalog import topic
from barnabas.console.access.record_decoder import RecordDecoder
from barnabas.console.access.record_pages import SEARCH_BYTES, read_parts, size_bytes
from barnabas.console.access.record_reading import fetch
from barnabas.console.access.shown_records import FilteredRecord, shown
from barnabas.console.core.export import FORMATS, Line, export_lines, parquet_file
from barnabas.console.core.record import ReadRecord
from barnabas.console.errors import ConsoleError
from barnabas.console.views.records import SELECTION, SHOWING, Selection, selected, showing_of
from barnabas.console.web.call import Call
from barnabas.console.web.json_values import json_bytes, plain
from barnabas.console.web.operation import Stream, view
from barnabas.console.web.pages import render
from barnabas.console.web.parameters import Parameter

_EVENTS: Final = "text/event-stream"
# Streams at once, over all people. Each holds a thread while it waits for a broker.
STREAMS_MAX: Final = 12
MATCHES_MAX: Final = 1_000
# A page becomes slow with more rows in a second; the tail says how many it left out.
TAIL_RECORDS_PER_SECOND_MAX: Final = 50
# A tail that falls behind further leaves records out, because it shows what happens now.
TAIL_BEHIND_MAX: Final = 10_000
TAIL_SECONDS_MAX: Final = 3600.0
_TAIL_WAIT_MS: Final = 1_000
_TAIL_BYTES: Final = 256 * 1024
EXPORTED_RECORDS_MAX: Final = 1_000_000
# Parquet is written in memory: the file ends where one of these is reached.
PARQUET_RECORDS_MAX: Final = 100_000
PARQUET_BYTES_MAX: Final = 256 * 1024 * 1024


async def search_records(call: Call) -> Stream:
    client = call.cluster
    selection = await selected(call, client)
    return Stream(_counted(call, _search(call, selection)), _EVENTS)


async def tail_records(call: Call) -> Stream:
    client = call.cluster
    selection = await selected(call, client)
    return Stream(_counted(call, _tail(call, selection)), _EVENTS)


async def export_records(call: Call) -> Stream:
    client = call.cluster
    selection = await selected(call, client)
    name = call.text("format")
    content = _exported(call, selection, name) if name != "parquet" else _exported_parquet(call, selection)
    return Stream(_counted(call, content), FORMATS[name], f"{selection.topic.name}.{name}")


async def _search(call: Call, selection: Selection) -> AsyncIterator[bytes]:
    matches, scanned, begin = 0, 0, time.monotonic()
    records_max = call.number("records_max")
    async for part in _parts(call, selection):
        scanned += part.scanned
        for each in part.records[: records_max - matches]:
            yield await _record_event(call, selection, each)
        matches += len(part.records)
        seconds = time.monotonic() - begin
        yield _event("progress", {"share": part.share, "scanned": scanned, "matches": min(matches, records_max), "seconds": seconds})
        for sentence in part.problems:
            yield _event("problem", {"sentence": sentence})
        if matches >= records_max:
            break
    yield _event("done", {"scanned": scanned, "matches": min(matches, records_max), "is_limited": matches >= records_max})


async def _tail(call: Call, selection: Selection) -> AsyncIterator[bytes]:
    client = call.cluster
    positions = {each: bound.end for each, bound in selection.bounds.items()}
    end = time.monotonic() + TAIL_SECONDS_MAX
    yield _event("progress", {"positions": positions})
    while time.monotonic() < end:
        # Leaders may have moved since the last round.
        found = await topic(client, selection.topic.name)
        began = time.monotonic()
        fetched = await fetch(client, found, positions, partition_bytes_max=_TAIL_BYTES, wait_ms=_TAIL_WAIT_MS)
        skipped = 0
        for partition, part in fetched.items():
            if part.error is not None:
                yield _event("problem", {"sentence": part.error})
            behind = part.end_offset - TAIL_BEHIND_MAX
            skipped += max(0, behind - part.opened.next_offset)
            positions[partition] = max(positions[partition], part.opened.next_offset, behind)
        # A filter looks into values, whose schemas may have to be fetched.
        records = await client.run(_wanted, call, [each for part in fetched.values() for each in part.opened.records], selection)
        records.sort(key=lambda each: (each.timestamp, each.partition, each.offset))
        unshown = max(0, len(records) - TAIL_RECORDS_PER_SECOND_MAX)
        skipped += unshown
        for each in records[unshown:]:
            yield await _record_event(call, selection, each)
        yield _event("progress", {"skipped": skipped})
        if records:
            await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - began)))
        elif all(part.error is not None for part in fetched.values()):
            await asyncio.sleep(1.0)
    yield _event("done", {})


def _wanted(call: Call, records: list[ReadRecord], selection: Selection) -> list[ReadRecord]:
    return [each for each in records if _is_wanted(call, each, selection)]


def _is_wanted(call: Call, record: ReadRecord, selection: Selection) -> bool:
    if record.control is not None and not call.flag("control"):
        return False
    return selection.condition is None or selection.condition(FilteredRecord(record, selection.decoder))


async def _exported(call: Call, selection: Selection, name: str) -> AsyncIterator[bytes]:
    left = call.number("records_max")
    header, lines = export_lines(name)
    yield header
    async for part in _parts(call, selection):
        records = part.records[:left]
        left -= len(records)
        yield await call.cluster.run(_written, lines, records, selection.decoder)
        if left <= 0:
            return


def _written(lines: Line, records: list[ReadRecord], decoder: RecordDecoder) -> bytes:
    return b"".join(lines(each, shown(each, decoder, characters_max=0)) for each in records)


async def _exported_parquet(call: Call, selection: Selection) -> AsyncIterator[bytes]:
    records: list[ReadRecord] = []
    records_max, size = min(call.number("records_max"), PARQUET_RECORDS_MAX), 0
    async for part in _parts(call, selection):
        records += part.records[: records_max - len(records)]
        size += size_bytes(part.records)
        if len(records) >= records_max or size >= PARQUET_BYTES_MAX:
            break
    yield await call.cluster.run(parquet_file, records)


def _parts(call: Call, selection: Selection) -> Any:
    return read_parts(
        call.cluster,
        selection.topic,
        selection.starts,
        {each: bound.end for each, bound in selection.bounds.items()},
        condition=selection.condition,
        decoder=selection.decoder,
        with_control=call.flag("control"),
        partition_bytes_max=SEARCH_BYTES,
        needle=selection.needle,
    )


async def _record_event(call: Call, selection: Selection, record: ReadRecord) -> bytes:
    made = await call.cluster.run(shown, record, selection.decoder)
    # The row is rendered here, so that a page has one way to escape a record.
    row = render("records/stream_row.html", record=made, cluster_name=call.cluster_name, showing=showing_of(call))
    return _event("record", {"record": plain(made), "row": row})


def _event(name: str, data: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(data) + b"\n\n"


async def _counted(call: Call, content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    services = call.services
    if services.streams >= STREAMS_MAX:
        yield _event("problem", {"sentence": f"The console reads {STREAMS_MAX} streams already; stop one, or wait."})
        return
    services.streams += 1
    try:
        async for each in content:
            yield each
    except ConsoleError as error:
        # The answer has begun, so the error is an event of its own; an export just ends.
        services.log.info("console stream ended", operation=call.operation.name, error=error.sentence)
        if call.operation.name != "export_records":
            yield _event("problem", {"sentence": error.sentence})
    finally:
        services.streams -= 1


_RECORDS_MAX_PARAMETER: Final = Parameter("records_max", "Matches to return.", int, MATCHES_MAX, minimum=1, maximum=MATCHES_MAX)

OPERATIONS: Final = (
    view(
        "search_records",
        "/clusters/{cluster}/topics/{topic}/records/search",
        search_records,
        summary="All records that match, as server-sent events with progress.",
        parameters=(*SELECTION, *SHOWING, _RECORDS_MAX_PARAMETER),
    ),
    view(
        "tail_records",
        "/clusters/{cluster}/topics/{topic}/records/tail",
        tail_records,
        summary="New records as they come, as server-sent events.",
        parameters=(*SELECTION, *SHOWING),
    ),
    view(
        "export_records",
        "/clusters/{cluster}/topics/{topic}/records/export",
        export_records,
        summary="All records that match, as a file.",
        parameters=(
            *SELECTION,
            *SHOWING,
            Parameter("format", "The format of the file.", default="jsonl", choices=tuple(FORMATS)),
            Parameter("records_max", "Records to export.", int, EXPORTED_RECORDS_MAX, minimum=1, maximum=EXPORTED_RECORDS_MAX),
        ),
    ),
)
