"""Records of a topic, read with Fetch requests: exactly what a page needs, and nothing ahead of it.

One request goes to each leader, for all partitions that it leads. The responses are opened
together, so that they have one bound. A partition of transactions is asked twice, because only a
request for committed records lists the aborted transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.offsets import READ_COMMITTED, READ_UNCOMMITTED
from barnabas.console.access.refusals import error_words
from barnabas.console.core.fetched_batches import EVERYTHING, AbortedTransaction, Budget, OpenedBatches, Opening, open_batches
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
    answered, failed = await _ask_each(client, topic.name, by_leader, partition_bytes_max, wait_ms, READ_UNCOMMITTED)
    asked = {each: positions[each] for part in by_leader.values() for each in part if each not in failed}
    fetched |= failed | await client.run(_opened, topic.name, asked, answered, {}, opening)
    undecided = {
        each: position
        for each, position in asked.items()
        if fetched[each].opened.has_transactions and position < fetched[each].stable_offset
    }
    if not undecided:
        return fetched
    # Their records make room for the same ones with the state of their transactions.
    fetched = {each: found for each, found in fetched.items() if each not in undecided}
    again = {leader: {each: part[each] for each in part.keys() & undecided.keys()} for leader, part in by_leader.items()}
    again = {leader: part for leader, part in again.items() if part}
    committed, failed = await _ask_each(client, topic.name, again, partition_bytes_max, 0, READ_COMMITTED)
    decided = {each: position for each, position in undecided.items() if each not in failed}
    aborted = {
        each: [AbortedTransaction(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
        for each, found in committed.items()
    }
    return fetched | failed | await client.run(_opened, topic.name, decided, answered, aborted, opening)


async def _ask_each(
    client: ClusterClient, topic: str, by_leader: Mapping[int, Mapping[int, int]], partition_bytes_max: int, wait_ms: int, isolation: int
) -> tuple[dict[int, PartitionData], dict[int, FetchedPartition]]:
    """What the leaders answer, and the partitions of those that cannot be asked."""
    answered: dict[int, PartitionData] = {}
    failed: dict[int, FetchedPartition] = {}

    async def ask(leader: int, part: Mapping[int, int]) -> None:
        try:
            answered.update(await _ask(client, topic, leader, part, partition_bytes_max, wait_ms, isolation))
        except ConsoleError as error:
            failed.update({each: _failed(position, error.sentence) for each, position in part.items()})

    await asyncio.gather(*(ask(leader, part) for leader, part in by_leader.items()))
    return answered, failed


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
    budget = Budget()
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
                budget=budget,
            )
            fetched[partition] = FetchedPartition(opened, found.log_start_offset, found.high_watermark, found.last_stable_offset)
    return fetched


def _bytes(records: object) -> bytes:
    """A decoder returns bytes; only a broker's own responses have regions of files."""
    assert records is None or isinstance(records, bytes | bytearray | memoryview)
    return bytes(records or b"")


def _failed(position: int, error: str) -> FetchedPartition:
    return FetchedPartition(OpenedBatches([], position, False, []), -1, -1, -1, error)
