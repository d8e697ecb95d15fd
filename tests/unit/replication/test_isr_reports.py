"""Changes of the ISR on their way to the controller: batched, one request at a time, until each is
answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.isr import IsrChange
from barnabas.replication.isr_reports import IsrReports
from barnabas.replication.partition import Partition
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from tests.unit import simulated
from tests.unit.replication.made import ME, World, led_by
from tests.waiting import until_async

LAG_MS = 1000
ALL = (ME, 2, 3)


class Desk:
    """Node 1 leads two partitions whose followers do not fetch. The controller answers when the
    test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[AlterPartitionRequest, Promise[Any]]] = []
        self.world = World()
        self.reports = IsrReports(
            self,
            self.world.replicas,
            SimpleNamespace(monotonic_ms=lambda: 10 * LAG_MS, wall_ms=lambda: 0),
            SimpleNamespace(info=lambda *_, **__: None),  # type: ignore[arg-type]
            node_id=ME,
            broker_epoch=lambda: 70,
            lag_ms_max=LAG_MS,
        )
        cluster_view = ClusterView(own_epoch=lambda: 70, propose=self.reports.propose, lag_ms_max=LAG_MS)
        self.partitions = [self.world.partition(index=index, image=led_by(ME, replicas=ALL), cluster_view=cluster_view) for index in (0, 1)]

    def submit(self, request: Any, context: Any = None) -> Promise[Any]:
        assert context is None
        answer: Promise[Any] = Promise()
        self.asked.append((request, answer))
        return answer

    def shrink(self, partition: Partition) -> IsrChange:
        change = partition.check_isr(10 * LAG_MS)
        assert change is not None
        return change

    async def is_asked(self, times: int) -> None:
        await until_async(lambda: len(self.asked) == times, f"request {times} reaches the controller", seen=lambda: self.asked)

    def agree(self, *, code: ErrorCode = ErrorCode.NONE) -> None:
        request, answer = self.asked[-1]
        topics = [
            ResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[
                    ResponsePartitionData(
                        partition_index=each.partition_index,
                        error_code=code,
                        leader_id=ME,
                        leader_epoch=each.leader_epoch,
                        isr=[member.broker_id for member in each.new_isr_with_epochs],
                        partition_epoch=each.partition_epoch + 1,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        answer.resolve(AlterPartitionResponse(throttle_time_ms=0, error_code=0, topics=topics))


def run(scenario: Callable[[Desk], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(Desk())

    simulated.run(main())


def test_changes_of_one_turn_go_in_one_request_with_all_epochs() -> None:
    async def scenario(desk: Desk) -> None:
        changes = [desk.shrink(partition) for partition in desk.partitions]
        await desk.is_asked(1)
        request, _ = desk.asked[0]
        assert (request.broker_id, request.broker_epoch) == (ME, 70)
        (topic,) = request.topics
        assert [(each.partition_index, each.partition_epoch) for each in topic.partitions] == [
            (index, change.partition_epoch) for index, change in enumerate(changes)
        ]
        assert [(member.broker_id, member.broker_epoch) for member in topic.partitions[0].new_isr_with_epochs] == [(ME, 70)]
        desk.agree()
        assert [partition.isr for partition in desk.partitions] == [(ME,), (ME,)]

    run(scenario)


def test_one_request_is_under_way_at_a_time() -> None:
    async def scenario(desk: Desk) -> None:
        desk.shrink(desk.partitions[0])
        await desk.is_asked(1)
        desk.shrink(desk.partitions[1])
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(desk.asked) == 1
        desk.agree()
        await desk.is_asked(2)
        assert desk.asked[1][0].topics[0].partitions[0].partition_index == 1

    run(scenario)


def test_a_change_without_an_answer_is_proposed_again() -> None:
    async def scenario(desk: Desk) -> None:
        desk.shrink(desk.partitions[0])
        for asked in (1, 2):
            await desk.is_asked(asked)
            desk.asked[-1][1].resolve(AlterPartitionResponse(throttle_time_ms=0, error_code=ErrorCode.NOT_CONTROLLER, topics=[]))
        await desk.is_asked(3)
        desk.agree()
        assert desk.partitions[0].isr == (ME,)

    run(scenario)


def test_a_refused_change_is_not_repeated_after_the_partition_changed() -> None:
    async def scenario(desk: Desk) -> None:
        desk.shrink(desk.partitions[0])
        await desk.is_asked(1)
        desk.partitions[0].follow_metadata(led_by(2, replicas=ALL, epoch=1))
        desk.asked[-1][1].resolve(AlterPartitionResponse(throttle_time_ms=0, error_code=ErrorCode.NOT_CONTROLLER, topics=[]))
        desk.shrink(desk.partitions[1])
        await desk.is_asked(2)
        assert [each.partition_index for each in desk.asked[1][0].topics[0].partitions] == [1]

    run(scenario)


def test_a_refusal_that_asks_for_patience_is_not_repeated() -> None:
    async def scenario(desk: Desk) -> None:
        change = desk.shrink(desk.partitions[0])
        await desk.is_asked(1)
        desk.agree(code=ErrorCode.INVALID_UPDATE_VERSION)
        leadership = desk.partitions[0].leadership
        assert leadership is not None
        assert leadership.isr.pending is change
        desk.shrink(desk.partitions[1])
        await desk.is_asked(2)
        assert [each.partition_index for each in desk.asked[1][0].topics[0].partitions] == [1]

    run(scenario)
