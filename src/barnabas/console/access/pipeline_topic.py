"""The progress topic of pipelines: read once, and followed from then on.

Each client of a cluster has its own reading, so a principal that may not read the topic sees
nothing of what another one read. A first reading of a long topic goes on with the next request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from barnabas.console.access.catalog import topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.offsets import bounds
from barnabas.console.access.record_pages import PAGE_BYTES, read_parts
from barnabas.console.core.pipeline_report import TOPIC, PipelineReports
from barnabas.console.errors import NotFound

_READ_SECONDS_MAX: Final = 4.0
_KEPT_SECONDS: Final = 2.0
_KEPT: Final = "pipeline reports"


@dataclass(slots=True)
class PipelineReading:
    reports: PipelineReports = field(default_factory=PipelineReports)
    is_complete: bool = True
    """Whether the end of the topic is reached."""
    topic_id: str = ""
    positions: dict[int, int] = field(default_factory=dict)


_readings: WeakKeyDictionary[ClusterClient, PipelineReading] = WeakKeyDictionary()


async def pipeline_reading(client: ClusterClient) -> PipelineReading:
    """An empty one if no pipeline ever reported to this cluster."""
    return await client.kept(_KEPT, lambda: _read_on(client), _KEPT_SECONDS)


async def _read_on(client: ClusterClient) -> PipelineReading:
    try:
        found = await topic(client, TOPIC)
    except NotFound:
        _readings.pop(client, None)
        return PipelineReading()
    reading = _readings.get(client)
    if reading is None or reading.topic_id != found.topic_id:
        reading = _readings[client] = PipelineReading(topic_id=found.topic_id)
    known = {each.partition: bound for each, bound in (await bounds(client, [found])).items()}
    starts = {each: min(max(reading.positions.get(each, 0), bound.start), bound.end) for each, bound in known.items()}
    ends = {each: bound.end for each, bound in known.items()}
    deadline = time.monotonic() + _READ_SECONDS_MAX
    positions = starts
    async for part in read_parts(
        client, found, starts, ends, condition=None, decoder=client.decoder, with_control=False, partition_bytes_max=PAGE_BYTES
    ):
        for each in part.records:
            reading.reports.add(each.key, each.value, each.timestamp)
        positions = part.positions
        if time.monotonic() > deadline:
            break
    reading.positions = positions
    reading.is_complete = all(positions[each] >= end for each, end in ends.items())
    return reading
