"""A member of a group of the consumer protocol (KIP-848), which needs only one request,
ConsumerGroupHeartbeat.

The coordinator assigns a partition to a member when no other member owns it any more. The member
reports in every heartbeat which partitions it owns. It owns a partition that it has to revoke until
its copier calls :meth:`ConsumerMember.settle`, after the transaction.
"""

from __future__ import annotations

import asyncio

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.simulation.coordinator_client import OF_GROUPS, PASSING, CoordinatorClient
from barnabas.simulation.group_member import HEARTBEAT_SECONDS, REBALANCE_TIMEOUT_MS, GroupMember
from barnabas.simulation.violations import Violation
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions

_JOIN, _LEAVE = 0, -1
_SETTLING_SECONDS = 0.05


class ConsumerMember(GroupMember):
    has_epoch = True

    def __init__(
        self, client: CoordinatorClient, group_id: str, topic: str, partitions: int, instance_id: str | None, *, member_id: str
    ) -> None:
        super().__init__(client, group_id, topic, partitions, instance_id)
        self.member_id = member_id
        self.generation = _JOIN
        self._given: frozenset[int] | None = None
        """The latest assignment, when it has not been applied yet."""

    async def beat(self) -> None:
        while True:
            await self._beat_once()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _beat_once(self) -> None:
        _, topic_id = await self.client.leader_of(TopicPartition(self.topic, 0))
        # Built after the wait: meanwhile the copier may have learned that it has to start over.
        joining = self.generation == _JOIN
        owned = [TopicPartitions(topic_id=topic_id, partitions=sorted(self.owned))] if self.owned and not joining else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.generation,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if joining else -1,
            subscribed_topic_names=[self.topic] if joining else None,
            topic_partitions=owned,
        )
        asked = self.membership
        code, answer = await self.client.ask_once(OF_GROUPS, self.group_id, request, lambda answer: answer.error_code)
        if asked != self.membership:
            return
        if code:
            self.refused(code)
        else:
            self._follow(answer)

    def _follow(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.generation = answer.member_epoch
        if answer.assignment is not None:
            self._given = frozenset(index for topic in answer.assignment.topic_partitions for index in topic.partitions)

    def refused(self, code: ErrorCode) -> None:
        if code in PASSING:
            return
        match code:
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.FENCED_MEMBER_EPOCH | ErrorCode.GROUP_ID_NOT_FOUND:
                self._start_over()
            case ErrorCode.FENCED_INSTANCE_ID:
                self._fenced = code
            case ErrorCode.UNRELEASED_INSTANCE_ID:
                pass  # the previous process keeps the place until its session ends
            case ErrorCode.STALE_MEMBER_EPOCH | ErrorCode.ILLEGAL_GENERATION:
                pass  # the next heartbeat brings the new epoch
            case _:
                raise Violation(f"{self.client.host.name}, {self.member_id} in epoch {self.generation}, gets {code.name}")

    def _start_over(self) -> None:
        self.own(frozenset())
        self.generation = _JOIN
        self._given = None

    async def settle(self) -> None:
        self.check_fenced()
        while self.generation == _JOIN:
            await asyncio.sleep(_SETTLING_SECONDS)
            self.check_fenced()
        if self._given is not None:
            self.own(self._given)
            self._given = None

    async def leave(self) -> None:
        if self.generation == _JOIN or self.instance_id is not None:
            return
        request = ConsumerGroupHeartbeatRequest(group_id=self.group_id, member_id=self.member_id, member_epoch=_LEAVE)
        self._start_over()
        await self.client.ask_once(OF_GROUPS, self.group_id, request, lambda answer: answer.error_code)
