"""A member of a streams group (KIP-1071): heartbeats, and responses with its active tasks.

The topology has one subtopology without state, which reads the topic of the crowd, so a task is a
partition. Like a thread of an application, the member revokes tasks at once and reports it at once;
the coordinator gives more when other members have done the same. Each member is a process of its
own.
"""

from __future__ import annotations

import time
import uuid

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from bench.members import NOTHING, Crowd, Member, refused

REBALANCE_TIMEOUT_MS = 60_000
_VERSION = 0
_SUBTOPOLOGY = "0"
_JOINING, _LEAVING = 0, -1


class StreamsMember(Member):
    def __init__(self, crowd: Crowd, number: int, count: int) -> None:
        super().__init__(crowd, number, count)
        self._member_id = str(uuid.uuid4())

    async def live(self) -> None:
        answer = await self._ask(
            StreamsGroupHeartbeatRequest(
                group_id=self.crowd.group,
                member_id=self._member_id,
                member_epoch=_JOINING,
                endpoint_information_epoch=0,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                topology=_topology(self.crowd.topic),
                process_id=self._member_id,
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
            )
        )
        while True:
            if self._take(answer):
                answer = await self._ask(self._heartbeat(reports=True))
            else:
                await self.until_heartbeat()
                sent_at = time.perf_counter()
                answer = await self._ask(self._heartbeat(reports=False))
                if answer.member_epoch != self.generation:
                    self.crowd.heard_of_death()
                else:
                    self.on_heartbeat(sent_at)

    async def leave(self) -> None:
        await self._ask(
            StreamsGroupHeartbeatRequest(
                group_id=self.crowd.group, member_id=self._member_id, member_epoch=_LEAVING, endpoint_information_epoch=0
            )
        )

    def _take(self, answer: StreamsGroupHeartbeatResponse) -> bool:
        """Whether the tasks have changed; if so, the member reports them to the coordinator."""
        before = self.owned
        owned = before if answer.active_tasks is None else NOTHING.union(*(each.partitions for each in answer.active_tasks))
        self.own(owned, answer.member_epoch)
        return owned != before

    def _heartbeat(self, *, reports: bool) -> StreamsGroupHeartbeatRequest:
        request = StreamsGroupHeartbeatRequest(
            group_id=self.crowd.group, member_id=self._member_id, member_epoch=self.generation, endpoint_information_epoch=0
        )
        if reports:
            request.active_tasks = [TaskIds(subtopology_id=_SUBTOPOLOGY, partitions=sorted(self.owned))] if self.owned else []
            request.standby_tasks = request.warmup_tasks = []
        return request

    async def _ask(self, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
        answer: StreamsGroupHeartbeatResponse = await self.ask(request, _VERSION)
        if answer.error_code != ErrorCode.NONE:
            raise refused("StreamsGroupHeartbeat", answer.error_code)
        return answer


def _topology(topic: str) -> Topology:
    reads = Subtopology(
        subtopology_id=_SUBTOPOLOGY,
        source_topics=[topic],
        source_topic_regex=[],
        state_changelog_topics=[],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
    return Topology(epoch=0, subtopologies=[reads])
