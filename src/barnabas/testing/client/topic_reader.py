"""Reads a topic from its start, or up to where it ends, partition by partition.

Records of aborted transactions and of open ones are left out, as with ``isolation.level =
read_committed``, unless the caller asks for them. The broker names the aborted transactions of each
answer; a transaction of a producer ends with that producer's next marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.records.batches import walk
from barnabas.records.record import open_batch
from barnabas.testing.client.helper_client import Deadline, HelperClient, KafkaRefused
from barnabas.testing.client.messages import ConsumedRecord
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

# The newest version in which topics go by name.
_BY_NAME = 12
_BYTES_MAX = 16 * 1024 * 1024
# Long enough that waiting costs few requests, short enough to notice a new partition.
_WAIT_MS = 50
_COMMITTED, _UNCOMMITTED = 1, 0
# The next metadata names another leader.
_MOVING = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)


class TopicReader:
    def __init__(self, client: HelperClient, topic: str, *, committed: bool = True) -> None:
        self._client = client
        self._topic = topic
        self._committed = committed
        self._next: dict[int, int] = {}
        self.records: list[ConsumedRecord] = []

    def read(self, leaders: dict[int, str], deadline: Deadline, *, wait: bool) -> int:
        """Reads what has arrived since the last call; returns the number of new records.
        ``leaders`` are the addresses of the partitions' leaders."""
        before = len(self.records)
        for address in sorted(set(leaders.values())):
            partitions = [each for each in leaders if leaders[each] == address]
            request = self._request(partitions, wait=wait and len(self.records) == before)
            response = self._client.ask(address, request, deadline, version_max=_BY_NAME)
            for topic in response.responses:
                for answer in topic.partitions:
                    self._take(answer)
        return len(self.records) - before

    def next_offset(self, partition: int) -> int:
        return self._next.get(partition, 0)

    def _request(self, partitions: list[int], *, wait: bool) -> FetchRequest:
        return FetchRequest(
            max_wait_ms=_WAIT_MS if wait else 0,
            min_bytes=1,
            max_bytes=_BYTES_MAX,
            isolation_level=_COMMITTED if self._committed else _UNCOMMITTED,
            topics=[
                FetchTopic(
                    topic=self._topic,
                    partitions=[
                        FetchPartition(partition=each, fetch_offset=self.next_offset(each), partition_max_bytes=_BYTES_MAX)
                        for each in partitions
                    ],
                )
            ],
        )

    def _take(self, answer: Any) -> None:
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            # Retention or DeleteRecords removed the first records.
            self._next[answer.partition_index] = answer.log_start_offset
            return
        if answer.error_code in _MOVING:
            return
        if answer.error_code:
            raise KafkaRefused(f"Topic {self._topic} cannot be read", answer.error_code)
        for batch in _wanted(answer):
            for record in open_batch(batch):
                if record.offset >= self.next_offset(answer.partition_index):
                    self.records.append(
                        ConsumedRecord(
                            self._topic,
                            answer.partition_index,
                            record.offset,
                            record.timestamp,
                            record.key,
                            record.value,
                            record.headers,
                        )
                    )
        for _, header in walk(answer.records or b""):
            self._next[answer.partition_index] = header.last_offset + 1


def _wanted(answer: Any) -> Iterator[bytes]:
    """The batches of one partition, without those of aborted transactions and without markers."""
    records = bytes(answer.records or b"")
    begins = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or [])
    aborting: set[int] = set()
    for position, header in walk(records):
        while begins and begins[0][0] <= header.last_offset:
            aborting.add(begins.pop(0)[1])
        if header.control:
            aborting.discard(header.producer_id)
        elif not (header.transactional and header.producer_id in aborting):
            yield records[position : position + header.size_bytes]
