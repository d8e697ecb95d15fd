"""A member of the consumer protocol (KIP-848): heartbeats, and responses with its assignment.

The member revokes partitions at once and reports it at once; the coordinator assigns more when
other members have done the same.
"""

from __future__ import annotations

import time
import uuid

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from bench.members import NOTHING, Crowd, Member, refused

REBALANCE_TIMEOUT_MS = 60_000
_VERSION = 1
_JOINING, _LEAVING = 0, -1


class ConsumerMember(Member):
    def __init__(self, crowd: Crowd, number: int, count: int) -> None:
        super().__init__(crowd, number, count)
        self._member_id = str(uuid.uuid4())
        self._topic_id = ZERO_UUID

    async def live(self) -> None:
        answer = await self._ask(
            ConsumerGroupHeartbeatRequest(
                group_id=self.crowd.group,
                member_id=self._member_id,
                member_epoch=_JOINING,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                subscribed_topic_names=[self.crowd.topic],
                topic_partitions=[],
            )
        )
        while True:
            if self._take(answer):
                owned = [TopicPartitions(topic_id=self._topic_id, partitions=sorted(self.owned))] if self.owned else []
                answer = await self._ask(self._heartbeat(owned))
            else:
                await self.until_heartbeat()
                sent_at = time.perf_counter()
                answer = await self._ask(self._heartbeat(None))
                if answer.member_epoch != self.generation:
                    # Unlike in the classic protocol this is not done at every change: while the
                    # group forms, the step of each member changes the group for the next one.
                    self.crowd.heard_of_death()
                else:
                    self.on_heartbeat(sent_at)

    async def leave(self) -> None:
        await self._ask(ConsumerGroupHeartbeatRequest(group_id=self.crowd.group, member_id=self._member_id, member_epoch=_LEAVING))

    def _take(self, answer: ConsumerGroupHeartbeatResponse) -> bool:
        """Whether the assignment has changed; if so, the member reports it to the coordinator."""
        before = self.owned
        if answer.assignment is not None:
            for topic in answer.assignment.topic_partitions:
                self._topic_id = topic.topic_id
            owned = NOTHING.union(*(topic.partitions for topic in answer.assignment.topic_partitions))
        else:
            owned = before
        self.own(owned, answer.member_epoch)
        return owned != before

    def _heartbeat(self, owned: list[TopicPartitions] | None) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.crowd.group, member_id=self._member_id, member_epoch=self.generation, topic_partitions=owned
        )

    async def _ask(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        answer: ConsumerGroupHeartbeatResponse = await self.ask(request, _VERSION)
        if answer.error_code != ErrorCode.NONE:
            raise refused("ConsumerGroupHeartbeat", answer.error_code)
        return answer
