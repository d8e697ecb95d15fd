"""A member of a share group over one raw connection, which sends any request a test wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages import share_acknowledge as acknowledge_messages, share_fetch as fetch_messages
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.scenarios.client import Client
from tests.waiting import until

GROUP_RESOURCE = 32
ACCEPT, RENEW = 1, 4

# First offset, last offset and types.
Range = tuple[int, int, Sequence[int]]


class ShareMember:
    def __init__(self, client: Client, group: str, topic: str, topic_id: Uuid, *, member_id: str | None = None) -> None:
        self._client = client
        self._group = group
        self._topic = topic
        self._topic_id = topic_id
        self.member_id = member_id or str(uuid4())
        self.epoch = 0

    def heartbeat(self, epoch: int = 0, *, topics: Sequence[str] | None = None, member_id: str | None = None) -> Any:
        return self._client.ask(
            ShareGroupHeartbeatRequest(
                group_id=self._group,
                member_id=self.member_id if member_id is None else member_id,
                member_epoch=epoch,
                subscribed_topic_names=list(topics if topics is not None else [self._topic]),
            )
        )

    def join(self) -> None:
        """The coordinator prepares the state of the partitions for the group."""
        self._client.alter_configs(
            GROUP_RESOURCE, self._group, {"share.auto.offset.reset": "earliest", "share.assignment.interval.ms": "0"}
        )

        def assigned() -> bool:
            # The first question for a coordinator creates the topic of groups.
            self._client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[self._group]))
            answer = self.heartbeat()
            return answer.error_code == ErrorCode.NONE and bool(answer.assignment and answer.assignment.topic_partitions)

        until(assigned, "the member has its partition")

    def fetch(self, *, epoch: int | None = None, ranges: Sequence[Range] = (), wait_ms: int = 0, **options: Any) -> Any:
        batches = [fetch_messages.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=list(c)) for a, b, c in ranges]
        partition = fetch_messages.FetchPartition(partition_index=0, acknowledgement_batches=batches)
        asked = {"min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500} | options
        request = fetch_messages.ShareFetchRequest(
            group_id=self._group,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            max_wait_ms=wait_ms,
            topics=[fetch_messages.FetchTopic(topic_id=self._topic_id, partitions=[partition])],
            forgotten_topics_data=[],
            **asked,
        )
        return self._counted(self._client.ask(request))

    def acknowledge(self, ranges: Sequence[Range], *, epoch: int | None = None, partition: int = 0, renews: bool = False) -> Any:
        batches = [
            acknowledge_messages.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=list(c)) for a, b, c in ranges
        ]
        asked = acknowledge_messages.AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches)
        request = acknowledge_messages.ShareAcknowledgeRequest(
            group_id=self._group,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            is_renew_ack=renews,
            topics=[acknowledge_messages.AcknowledgeTopic(topic_id=self._topic_id, partitions=[asked])],
        )
        return self._counted(self._client.ask(request))

    def _counted(self, answer: Any) -> Any:
        if answer.error_code == ErrorCode.NONE:
            self.epoch += 1
        return answer

    def acquire(self, count: int) -> list[tuple[int, int]]:
        """Fetches until it holds this many records."""
        held: list[tuple[int, int]] = []

        def enough() -> bool:
            held.extend(acquired_in(self.fetch(wait_ms=200)))
            return sum(last - first + 1 for first, last in held) >= count

        until(enough, f"{count} records are acquired", seen=lambda: held)
        return held


def acquired_in(answer: Any) -> list[tuple[int, int]]:
    assert answer.error_code == ErrorCode.NONE, answer
    partitions = [partition for topic in answer.responses for partition in topic.partitions]
    return [(each.first_offset, each.last_offset) for partition in partitions for each in partition.acquired_records]


def verdict_of(answer: Any) -> int:
    """The error of the one partition of a ShareAcknowledge response, or of all of it."""
    if answer.error_code:
        return int(answer.error_code)
    return int(answer.responses[0].partitions[0].error_code)
