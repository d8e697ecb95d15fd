"""Members of a streams group: an active task runs in one process at a time, a process has one copy
of a task, and epochs that members have seen survive.

Pairs of members are threads of one process.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.group.streams.tasks import TaskId, Tasks
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, GROUPS_SHARD
from tests.simulation.coordinators.offsets import commit_request
from tests.simulation.coordinators.world import Ask, Script, World
from tests.streams_heartbeats import beat, subtopology, topology

STREAMS = "streams"
REBALANCE_TIMEOUT_MS = 15_000
SENT = topology(subtopology("0", DATA), subtopology("1", DATA))


class StreamsWitness:
    def __init__(self, world: World) -> None:
        self._world = world
        self._told: Counter[str] = Counter()
        """By member: the highest epoch it has seen."""
        self.members: list[StreamsMember] = []
        self.epochs = 0
        self._joins: Counter[str] = Counter()
        world.witnesses.append(self.see)
        world.checks.append(self.check)
        world.on_loaded.append(self.loaded)

    def group(self) -> StreamsGroup | None:
        machine = self._world.node.group_machine
        group = machine.shard.groups.get(STREAMS) if machine is not None else None
        return group if isinstance(group, StreamsGroup) else None

    def check(self) -> None:
        group = self.group()
        if self._world.node.group_machine is not None:
            for member_id in [each for each in self._told if group is None or each not in group.members]:
                del self._told[member_id]
        if group is None:
            return
        owners: dict[TaskId, str] = {}
        for member in group.members.values():
            for owned in (member.ownership.assigned, member.ownership.revoking):
                for task in owned.active:
                    other = owners.setdefault(task, member.member_id)
                    assert other == member.member_id, f"{task} belongs to {other} and to {member.member_id}"
        assert group.active_processes == {task: group.members[owner].process_id for task, owner in owners.items()}
        assert all(member.epoch <= group.target_epoch <= group.epoch for member in group.members.values())

    def see(self, request: Any, answer: Promise[Any]) -> None:
        if isinstance(request, StreamsGroupHeartbeatRequest):
            if request.member_epoch == 0:
                # The member starts over: earlier responses do not count.
                self._joins[request.member_id] += 1
                self._told.pop(request.member_id, None)
            joins = self._joins[request.member_id]
            answer.then(lambda response: self._beaten(request, response, joins))

    def _beaten(self, request: StreamsGroupHeartbeatRequest, response: StreamsGroupHeartbeatResponse, joins: int) -> None:
        member_id = request.member_id
        if not response.error_code and joins == self._joins[member_id]:
            self.epochs = max(self.epochs, response.member_epoch)
            if response.member_epoch < 0:
                self._told.pop(member_id, None)
            else:
                self._told[member_id] = max(self._told[member_id], response.member_epoch)

    def loaded(self, partition: TopicPartition) -> None:
        group = self.group()
        if partition != GROUPS_SHARD or group is None:
            return
        for member in group.members.values():
            reported = self._told[member.member_id]
            assert member.epoch >= reported, f"{member.member_id} has seen epoch {reported}, and is known at {member.epoch}"

    def given(self, receiver: StreamsMember) -> None:
        """A member has just received its tasks: no other member of the group believes to run any of
        them.
        """
        group = self.group()
        if group is None or receiver.member_id not in group.members:
            return
        for other in self.members:
            if other is not receiver and other.member_id in group.members:
                both = receiver.owned.active & other.owned.active
                assert not both, f"{receiver.member_id} and {other.member_id} both run {both}"


class StreamsMember:
    """Its messages keep their order: a report of owned tasks must not come late."""

    def __init__(self, world: World, witness: StreamsWitness, name: str, process: str) -> None:
        self._world = world
        self._witness = witness
        self._name = name
        self._process = process
        self._incarnation = 0
        self.member_id = ""
        self.owned = Tasks()
        witness.members.append(self)

    def script(self) -> Script:
        self._incarnation += 1
        self.member_id, self.owned = f"{self._name}-{self._incarnation}", Tasks()
        chance = self._world.chance
        epoch = 0
        while True:
            if epoch and chance.random() < 0.05:
                # From now on it runs nothing, whether or not the request arrives.
                self.owned = Tasks()
                yield self._beat(-1)
                return
            if epoch and chance.random() < 0.3:
                offset = chance.randrange(1 << 30)
                yield commit_request(STREAMS, chance.randrange(DATA_PARTITIONS), offset, member_id=self.member_id, epoch=epoch)
                continue
            response = yield self._beat(epoch)
            if response is None:
                continue
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND):
                epoch, self.owned = 0, Tasks()
            elif not response.error_code:
                epoch = response.member_epoch
                if response.active_tasks is not None:
                    active = frozenset((each.subtopology_id, number) for each in response.active_tasks for number in each.partitions)
                    self.owned = Tasks(active)
                    self._witness.given(self)

    def _beat(self, epoch: int) -> Ask:
        active: dict[str, list[int]] = {}
        for subtopology_id, number in sorted(self.owned.active):
            active.setdefault(subtopology_id, []).append(number)
        joining: dict[str, Any] = (
            {"topology": SENT, "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS, "process_id": self._process} if epoch == 0 else {}
        )
        return Ask(beat(STREAMS, self.member_id, epoch, active=active, **joining), 0)
