"""A group coordinator with one shard, its log in memory, and members of one streams group ``g``.

:meth:`StreamsDesk.joins` and :meth:`StreamsDesk.beats` send heartbeats as the Java client does: a
member reports the tasks that it was last given, less those that a test withholds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from barnabas.coordinators.group.bounded_setting import BoundedSetting
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.group.streams.settings import StreamsGroupSettings
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.group.streams.streams_groups import HeartbeatAnswer
from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)
from tests.streams_heartbeats import beat, joining
from tests.unit.coordinators.consumer.desk import GROUP, SHARD, Desk

Tasks = dict[str, list[int]]

AT_ONCE = StreamsGroupSettings(
    assignment_interval_ms=BoundedSetting("streams.assignment.interval.ms", 0, 0, 15_000),
    initial_rebalance_delay_ms=BoundedSetting("streams.initial.rebalance.delay.ms", 0, 0, 600_000),
)


class LogRefused(Exception):
    """The coordinator could not write its decision."""


class Member:
    """The view that a member has of itself."""

    def __init__(self) -> None:
        self.epoch = 0
        self.active: Tasks = {}
        self.standby: Tasks = {}
        self.statuses: list[int] = []


class StreamsDesk(Desk):
    def __init__(self, settings: StreamsGroupSettings = AT_ONCE) -> None:
        super().__init__(GroupSettings(streams=settings))
        self.streams: dict[str, Member] = {}

    def _shown(self, record: CoordinatorRecord) -> str:
        """The class of the record, and whether it deletes."""
        name = type(record.key).__name__.removeprefix("StreamsGroup").removesuffix("Key")
        return f"no {name}" if record.value is None else name

    def written(self) -> list[str]:
        """The records since the last call."""
        lines, self.lines = self.lines, []
        return [line.removeprefix("  log ") for line in lines]

    @property
    def streams_group(self) -> StreamsGroup:
        group = self.machine.shard.groups[GROUP]
        assert isinstance(group, StreamsGroup)
        return group

    def ask(self, request: StreamsGroupHeartbeatRequest) -> HeartbeatAnswer:
        def operation(machine: GroupMachine) -> Outcome[HeartbeatAnswer]:
            return machine.streams.heartbeat(request, client_id="c", client_host="/h", now_ms=self.now_ms)

        answer = self.runtime.run(SHARD, self.now_ms, operation)
        assert answer.done
        if isinstance(answer.value, ErrorCode):
            raise LogRefused(answer.value)
        return answer.value

    @staticmethod
    def refused(heartbeat: Callable[[], object]) -> bool:
        """Whether the log refused the records of the heartbeat."""
        try:
            heartbeat()
        except LogRefused:
            return True
        return False

    def joins(self, name: str, sent: Topology, **options: Any) -> StreamsGroupHeartbeatResponse:
        self.streams[name] = Member()
        return self._told(name, self.ask(joining(GROUP, name, sent, **options)).response)

    def beats(self, name: str, *, silent: bool = False, **options: Any) -> StreamsGroupHeartbeatResponse:
        """``silent`` leaves the lists of tasks out, as a member without news does."""
        member = self.streams[name]
        given: dict[str, Any] = {"epoch": member.epoch, "active": member.active, "standby": member.standby, **options}
        if silent:
            given["active"] = given["standby"] = None
        return self._told(name, self.ask(beat(GROUP, name, given.pop("epoch"), **given)).response)

    def leaves(self, name: str, **options: Any) -> StreamsGroupHeartbeatResponse:
        return self.ask(beat(GROUP, name, -1, **options)).response

    def _told(self, name: str, response: StreamsGroupHeartbeatResponse) -> StreamsGroupHeartbeatResponse:
        member = self.streams[name]
        if response.error_code == ErrorCode.NONE:
            member.epoch = response.member_epoch
            member.statuses = [status.status_code for status in response.status or ()]
            if response.active_tasks is not None:
                member.active = tasks_of(response.active_tasks)
                member.standby = tasks_of(response.standby_tasks or [])
        return response

    def settle(self, *names: str, rounds: int = 6) -> None:
        """Heartbeats of all members until each has its target."""
        for _ in range(rounds):
            for name in names:
                self.beats(name)

    def owned(self) -> Mapping[str, Tasks]:
        return {name: member.active for name, member in self.streams.items()}


def tasks_of(listed: Sequence[Any]) -> Tasks:
    return {each.subtopology_id: list(each.partitions) for each in listed}
