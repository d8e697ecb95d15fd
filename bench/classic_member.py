"""A member of the classic protocol: join, let the leader assign, and send heartbeats.

It joins again when a heartbeat response reports a rebalance. It is eager: it revokes all its
partitions before it joins again.
"""

from __future__ import annotations

import time
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.compiler import decode, encode
from barnabas.wire.embedded.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from bench.members import NOTHING, SESSION_TIMEOUT_MS, Crowd, Member, refused

REBALANCE_TIMEOUT_MS = 60_000
_JOIN_VERSION, _SYNC_VERSION, _HEARTBEAT_VERSION, _LEAVE_VERSION = 9, 5, 4, 5
_PROTOCOL_TYPE, _PROTOCOL = "consumer", "range"
_EMBEDDED_VERSION = 1
_EMBEDDED_VERSION_BYTES = 2


class ClassicMember(Member):
    def __init__(self, crowd: Crowd, number: int, count: int) -> None:
        super().__init__(crowd, number, count)
        self._member_id = ""
        self._leads = False
        subscription = _embed(ConsumerProtocolSubscription(topics=[crowd.topic]))
        self._protocols = [JoinGroupRequestProtocol(name=_PROTOCOL, metadata=subscription)]

    def may_die(self) -> bool:
        """Not the leader: the server chooses the next one, and the two servers would differ."""
        return not self._leads

    async def live(self) -> None:
        while True:
            joined = await self._join()
            if await self._sync(joined):
                while await self._is_still_of_its_generation():
                    pass

    async def leave(self) -> None:
        request = LeaveGroupRequest(group_id=self.crowd.group, members=[MemberIdentity(member_id=self._member_id)])
        await self.ask(request, _LEAVE_VERSION)

    async def _join(self) -> JoinGroupResponse:
        self.owned = NOTHING
        while True:
            request = JoinGroupRequest(
                group_id=self.crowd.group,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                member_id=self._member_id,
                protocol_type=_PROTOCOL_TYPE,
                protocols=self._protocols,
            )
            answer: JoinGroupResponse = await self.ask(request, _JOIN_VERSION)
            self._member_id = answer.member_id
            if answer.error_code == ErrorCode.NONE:
                self._leads = answer.leader == answer.member_id
                return answer
            if answer.error_code not in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS):
                raise refused("JoinGroup", answer.error_code)

    async def _sync(self, joined: JoinGroupResponse) -> bool:
        request = SyncGroupRequest(
            group_id=self.crowd.group,
            generation_id=joined.generation_id,
            member_id=self._member_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=_PROTOCOL,
            assignments=self._assign([member.member_id for member in joined.members]),
        )
        answer = await self.ask(request, _SYNC_VERSION)
        if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            return False
        if answer.error_code != ErrorCode.NONE:
            raise refused("SyncGroup", answer.error_code)
        assignment, _ = decode(ConsumerProtocolAssignment, _EMBEDDED_VERSION, answer.assignment, _EMBEDDED_VERSION_BYTES)
        partitions = frozenset(index for topic in assignment.assigned_partitions for index in topic.partitions)
        self.own(partitions, joined.generation_id)
        return True

    def _assign(self, member_ids: list[str]) -> list[SyncGroupRequestAssignment]:
        """Only the leader gets the list of members, and assigns the partitions."""
        shares = {member_id: range(at, self.crowd.partitions, len(member_ids)) for at, member_id in enumerate(member_ids)}
        return [
            SyncGroupRequestAssignment(
                member_id=member_id,
                assignment=_embed(
                    ConsumerProtocolAssignment(
                        assigned_partitions=[ConsumerProtocolAssignmentTopicPartition(topic=self.crowd.topic, partitions=list(share))]
                    )
                ),
            )
            for member_id, share in shares.items()
        ]

    async def _is_still_of_its_generation(self) -> bool:
        await self.until_heartbeat()
        request = HeartbeatRequest(group_id=self.crowd.group, generation_id=self.generation, member_id=self._member_id)
        sent_at = time.perf_counter()
        error = (await self.ask(request, _HEARTBEAT_VERSION)).error_code
        if error not in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            raise refused("Heartbeat", error)
        if error == ErrorCode.REBALANCE_IN_PROGRESS:
            self.crowd.hurry()
            return False
        self.on_heartbeat(sent_at)
        return True


def _embed(message: Any) -> bytes:
    return _EMBEDDED_VERSION.to_bytes(_EMBEDDED_VERSION_BYTES, "big") + bytes(encode(message, _EMBEDDED_VERSION))
