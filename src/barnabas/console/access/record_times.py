"""The times of single records, from the headers of their batches: a few hundred bytes for each
partition, and nothing is decompressed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.core.group_lag import time_of_offset
from barnabas.console.core.topic import Topic, TopicPartition
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

# The last version that names topics; a newer one has their ids.
_BY_NAME: Final = 12
# Enough for the header of a batch. A leader cuts a batch off there, except for the first one.
_HEADER_BYTES_MAX: Final = 512
_RESPONSE_BYTES_MAX: Final = 4 * 1024 * 1024


async def times_of(client: ClusterClient, topics: Iterable[Topic], offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The time of the record at each offset, or of the next record. Partitions that do not answer,
    and offsets without a record, are missing."""
    by_leader: dict[int, dict[str, list[FetchPartition]]] = {}
    for topic in topics:
        for each in topic.partitions:
            offset = offsets.get(TopicPartition(topic.name, each.id))
            if offset is not None and each.leader >= 0:
                asked = FetchPartition(partition=each.id, fetch_offset=offset, partition_max_bytes=_HEADER_BYTES_MAX)
                by_leader.setdefault(each.leader, {}).setdefault(topic.name, []).append(asked)

    def request(leader: int) -> FetchRequest:
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=_RESPONSE_BYTES_MAX,
            isolation_level=0,
            topics=[FetchTopic(topic=name, partitions=partitions) for name, partitions in by_leader[leader].items()],
        )

    found: dict[TopicPartition, int] = {}
    for answer in (await client.ask_each_broker(request, by_leader, version_max=_BY_NAME)).values():
        if not isinstance(answer, FetchResponse):
            continue
        for answered in answer.responses:
            for partition in answered.partitions:
                place = TopicPartition(answered.topic, partition.partition_index)
                if partition.error_code != ErrorCode.NONE or place not in offsets:
                    continue
                records = partition.records
                assert records is None or isinstance(records, bytes | bytearray | memoryview)
                moment = time_of_offset(bytes(records or b""), offsets[place])
                if moment is not None:
                    found[place] = moment
    return found
