"""Records of a topic, read with Fetch requests: exactly what a page needs, and nothing ahead of it.

One request goes to each leader, for all partitions that it leads. A partition of transactions is
asked twice, because only a request for committed records lists the aborted transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.offsets import READ_COMMITTED, READ_UNCOMMITTED
from barnabas.console.access.refusals import error_words
from barnabas.console.core.fetched_batches import EVERYTHING, AbortedTransaction, OpenedBatches, Opening, open_batches
from barnabas.console.core.topic import Topic
from barnabas.console.errors import ConsoleError
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

# The last version that names topics; a newer one has their ids.
_BY_NAME: Final = 12
# Bytes of one response, over all its partitions. A first batch that is larger comes anyway.
FETCH_BYTES_MAX: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    opened: OpenedBatches
    start_offset: int
    end_offset: int
    """The high watermark."""
    stable_offset: int
    error: str | None = None


async def fetch(
    client: ClusterClient,
    topic: Topic,
    positions: Mapping[int, int],
    *,
    partition_bytes_max: int,
    wait_ms: int = 0,
    opening: Opening = EVERYTHING,
) -> dict[int, FetchedPartition]:
    """What each partition has from its position on, as much as one response holds and ``opening``
    allows. With ``wait_ms`` leaders hold the answer back until there is a record."""
    by_leader: dict[int, dict[int, int]] = {}
    fetched: dict[int, FetchedPartition] = {}
    for each in topic.partitions:
        if each.id not in positions:
            continue
        if each.leader < 0:
            fetched[each.id] = _failed(positions[each.id], f"Partition {each.id} has no leader.")
        else:
            by_leader.setdefault(each.leader, {})[each.id] = positions[each.id]
    answers = await asyncio.gather(
        *(_fetch_from(client, topic, leader, part, partition_bytes_max, wait_ms, opening) for leader, part in by_leader.items())
    )
    for answer in answers:
        fetched.update(answer)
    return fetched


async def _fetch_from(
    client: ClusterClient,
    topic: Topic,
    leader: int,
    positions: Mapping[int, int],
    partition_bytes_max: int,
    wait_ms: int,
    opening: Opening,
) -> dict[int, FetchedPartition]:
    try:
        answered = await _ask(client, topic.name, leader, positions, partition_bytes_max, wait_ms, READ_UNCOMMITTED)
    except ConsoleError as error:
        return {each: _failed(position, error.sentence) for each, position in positions.items()}
    opened = await client.run(_opened, topic.name, positions, answered, {}, opening)
    undecided = {
        each: positions[each] for each, found in opened.items() if found.opened.has_transactions and positions[each] < found.stable_offset
    }
    if not undecided:
        return opened
    try:
        committed = await _ask(client, topic.name, leader, undecided, partition_bytes_max, 0, READ_COMMITTED)
    except ConsoleError as error:
        return {**opened, **{each: _failed(position, error.sentence) for each, position in undecided.items()}}
    aborted = {
        each: [AbortedTransaction(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
        for each, found in committed.items()
    }
    again: dict[int, FetchedPartition] = await client.run(
        _opened, topic.name, undecided, {each: answered[each] for each in undecided}, aborted, opening
    )
    return {**opened, **again}


async def _ask(
    client: ClusterClient, topic: str, leader: int, positions: Mapping[int, int], partition_bytes_max: int, wait_ms: int, isolation: int
) -> dict[int, PartitionData]:
    partitions = [
        FetchPartition(partition=each, fetch_offset=position, partition_max_bytes=partition_bytes_max)
        for each, position in positions.items()
    ]
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1 if wait_ms else 0,
        max_bytes=FETCH_BYTES_MAX,
        isolation_level=isolation,
        topics=[FetchTopic(topic=topic, partitions=partitions)],
    )
    response: FetchResponse = await client.ask_broker(leader, request, version_max=_BY_NAME)
    return {each.partition_index: each for answered in response.responses for each in answered.partitions}


def _opened(
    topic: str,
    positions: Mapping[int, int],
    answered: Mapping[int, PartitionData],
    aborted: Mapping[int, list[AbortedTransaction]],
    opening: Opening,
) -> dict[int, FetchedPartition]:
    fetched = {}
    for partition, position in positions.items():
        found = answered.get(partition)
        if found is None:
            fetched[partition] = _failed(position, f"The leader of partition {partition} did not answer about it.")
        elif found.error_code != ErrorCode.NONE:
            fetched[partition] = _failed(position, f"Cannot read partition {partition}: {error_words(found.error_code)}.")
        else:
            opened = open_batches(
                topic,
                partition,
                _bytes(found.records),
                from_offset=position,
                stable_offset=found.last_stable_offset,
                aborted=aborted.get(partition, ()),
                opening=opening,
            )
            fetched[partition] = FetchedPartition(opened, found.log_start_offset, found.high_watermark, found.last_stable_offset)
    return fetched


def _bytes(records: object) -> bytes:
    """A decoder returns bytes; only a broker's own responses have regions of files."""
    assert records is None or isinstance(records, bytes | bytearray | memoryview)
    return bytes(records or b"")


def _failed(position: int, error: str) -> FetchedPartition:
    return FetchedPartition(OpenedBatches([], position, False, []), -1, -1, -1, error)
