"""A member of a classic group: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, as consumers use
them.

An eager member revokes all its partitions before it joins. A cooperative one keeps them, lists them
when it joins, and joins again after it had to revoke some. A static one returns to its place under
its instance id.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.simulation.coordinator_client import OF_GROUPS, PASSING, CoordinatorClient
from barnabas.simulation.group_member import HEARTBEAT_SECONDS, REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, GroupMember
from barnabas.simulation.partition_sharing import Claim, share_cooperatively, share_eagerly
from barnabas.simulation.violations import Violation
from barnabas.wire.compiler import decode, encode
from barnabas.wire.embedded.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

# The version prefix of the embedded messages: the version in which a member reports the generation
# of its partitions (KIP-792).
_SUBSCRIPTION_VERSION = 2
_ASSIGNMENT_VERSION = 1
_VERSION = struct.Struct(">h")
# A join waits for the other members.
JOIN_MS = REBALANCE_TIMEOUT_MS + 5000
EAGER, COOPERATIVE = "range", "cooperative-sticky"


class ClassicMember(GroupMember):
    def __init__(
        self, client: CoordinatorClient, group_id: str, topic: str, partitions: int, instance_id: str | None, *, cooperative: bool
    ) -> None:
        super().__init__(client, group_id, topic, partitions, instance_id)
        self._cooperative = cooperative
        self._current = False
        """Whether the member knows of no reason to join."""
        self._joined = False

    # -- heartbeats

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if not self._joined:
                continue
            asked = self.membership
            request = HeartbeatRequest(
                group_id=self.group_id, generation_id=asked.generation, member_id=asked.member_id, group_instance_id=self.instance_id
            )
            code, _ = await self.client.ask_once(OF_GROUPS, self.group_id, request, lambda answer: answer.error_code)
            if code and self._joined and asked == self.membership:
                self.refused(code)

    def refused(self, code: ErrorCode) -> None:
        if code in PASSING:
            return
        match code:
            case ErrorCode.REBALANCE_IN_PROGRESS:
                self._current = False
            case ErrorCode.ILLEGAL_GENERATION:
                self._start_over(self.member_id)
            case ErrorCode.UNKNOWN_MEMBER_ID:
                self._start_over("")
            case ErrorCode.FENCED_INSTANCE_ID:
                self._fenced = code
            case _:
                raise Violation(f"{self.client.host.name}, {self.member_id} in generation {self.generation}, gets {code.name}")

    def _start_over(self, member_id: str) -> None:
        """The group continued without this member: its partitions may have other owners."""
        self.own(frozenset())
        self.member_id = member_id
        self.generation = -1
        self._current = self._joined = False

    # -- joining

    async def settle(self) -> None:
        self.check_fenced()
        while not self._current:
            if not self._cooperative:
                self.own(frozenset())
            self._joined = False
            joined = await self._join()
            if joined is None:
                self.check_fenced()
                await self.client.pause()
                continue
            assigned = await self._sync(joined)
            if assigned is None:
                self.check_fenced()
                continue
            self.generation = joined.generation_id
            self._joined = self._current = True
            if self._cooperative and self.owned - assigned:
                # The partitions revoked here are free for other members in the next generation.
                self._current = False
            self.own(assigned)

    async def _join(self) -> JoinGroupResponse | None:
        claimed = [TopicPartition(topic=self.topic, partitions=sorted(self.owned))] if self.owned else []
        subscription = ConsumerProtocolSubscription(topics=[self.topic], owned_partitions=claimed, generation_id=self.generation)
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(
                    name=COOPERATIVE if self._cooperative else EAGER,
                    metadata=_VERSION.pack(_SUBSCRIPTION_VERSION) + encode(subscription, _SUBSCRIPTION_VERSION),
                )
            ],
        )
        code, answer = await self.client.ask_once(OF_GROUPS, self.group_id, request, lambda answer: answer.error_code, timeout_ms=JOIN_MS)
        if code is ErrorCode.NONE:
            self.member_id = answer.member_id
            return answer  # type: ignore[no-any-return]
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        else:
            self.refused(code)
        return None

    async def _sync(self, joined: JoinGroupResponse) -> frozenset[int] | None:
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=joined.protocol_type,
            protocol_name=joined.protocol_name,
            assignments=self._share(joined) if joined.leader == self.member_id and not joined.skip_assignment else [],
        )
        code, answer = await self.client.ask_once(OF_GROUPS, self.group_id, request, lambda answer: answer.error_code, timeout_ms=JOIN_MS)
        if code is ErrorCode.NONE:
            return _partitions_in(answer.assignment)
        self.refused(code)
        return None

    def _share(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        claims = {each.member_id: _claim(each.metadata) for each in joined.members}
        shares = (share_cooperatively if self._cooperative else share_eagerly)(claims, self.partitions)
        return [SyncGroupRequestAssignment(member_id=name, assignment=self._assignment(share)) for name, share in shares.items()]

    def _assignment(self, share: list[int]) -> bytes:
        topics = [ConsumerProtocolAssignmentTopicPartition(topic=self.topic, partitions=share)] if share else []
        return _VERSION.pack(_ASSIGNMENT_VERSION) + encode(ConsumerProtocolAssignment(assigned_partitions=topics), _ASSIGNMENT_VERSION)

    async def leave(self) -> None:
        """Static members do not leave: their place is kept for them."""
        if self.instance_id is not None or not self._joined:
            return
        member = MemberIdentity(member_id=self.member_id, group_instance_id=None)
        self._start_over("")
        await self.client.ask_once(
            OF_GROUPS, self.group_id, LeaveGroupRequest(group_id=self.group_id, members=[member]), lambda answer: answer.error_code
        )


def _claim(metadata: Any) -> Claim:
    (version,) = _VERSION.unpack_from(metadata)
    said, _ = decode(ConsumerProtocolSubscription, version, metadata, _VERSION.size)
    return Claim(said.generation_id, frozenset(index for topic in said.owned_partitions for index in topic.partitions))


def _partitions_in(assignment: Any) -> frozenset[int]:
    if not assignment:
        return frozenset()
    (version,) = _VERSION.unpack_from(assignment)
    given, _ = decode(ConsumerProtocolAssignment, version, assignment, _VERSION.size)
    return frozenset(index for topic in given.assigned_partitions for index in topic.partitions)
