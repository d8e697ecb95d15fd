"""A play of classic members and their coordinator: a script in, a transcript out.

A line of a script is an event. Its consequences are indented below it: the responses in the order
they leave, the records, and the state of the group at the end. Besides requests of members
(:mod:`~tests.unit.coordinators.classic.script`):

    commit a [generation=7] [transactional]   check whether a member may commit offsets
    delete                                    delete the group
    wait 3000                                 let time pass
    lag | catch up | fail CODE                followers lag or catch up, or the leader changes
    refuse CODE | accept                      the log refuses appends, or accepts them again
    restart | unload                          another coordinator loads the log, or none does
"""

from __future__ import annotations

import re
from typing import Any

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey, GroupMetadataValue
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest
from tests.unit.coordinators.classic.script import GROUP, Player, Script, named
from tests.unit.coordinators.desk import Desk


class Play(Script):
    def __init__(self, settings: GroupSettings | None = None, seed: int = 0) -> None:
        super().__init__()
        self.desk = Desk(settings, seed=seed)
        self.waiting = 0
        self._batches_seen = 0

    @property
    def group(self) -> ClassicGroup | None:
        group = self.desk.machine.shard.groups.get(GROUP)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def perform(self, line: str) -> None:
        super().perform(line)
        self.tell_answers()
        for record in self.desk.records(self._batches_seen):
            self.say("log: " + self._record(record.key, record.value))
        self._batches_seen = len(self.desk.log.batches)
        self.say("-> " + (self._state() if self.desk.runtime.active_partitions else "unloaded"))

    def _state(self) -> str:
        group = self.group
        return f"{group.state_name} {group.generation}" if group is not None else "no group"

    def _record(self, key: Any, value: GroupMetadataValue | None) -> str:
        assert isinstance(key, GroupMetadataKey)
        if value is None:
            return "deleted"
        members = named(f"{self.name_of(each.member_id)}={each.assignment.decode() or '-'}" for each in value.members)
        leader = f" led by {self.name_of(value.leader)}" if value.leader else ""
        return f"generation {value.generation} {value.protocol or 'without protocol'}{leader}: {members}"

    def ask(self, name: str, request: Any, version: int) -> None:
        def operation(machine: GroupMachine, now_ms: int) -> Outcome[Any]:
            classic = machine.classic
            match request:
                case JoinGroupRequest():
                    return classic.join(request, version=version, client_id="client", client_host="/h", now_ms=now_ms)
                case SyncGroupRequest():
                    return classic.sync(request, now_ms=now_ms)
                case HeartbeatRequest():
                    return classic.heartbeat(request, now_ms=now_ms)
                case LeaveGroupRequest():
                    return classic.leave(request, version=version, now_ms=now_ms)
                case DescribeGroupsRequest():
                    described = classic.describe(GROUP).answer
                    assert not isinstance(described, Promise)
                    return Outcome(DescribeGroupsResponse(groups=[described]))
                case _:
                    raise AssertionError(request)

        self.waiting += 1
        self.desk.run(operation).then(lambda response: self.answered(name, response))

    def answered(self, name: str, response: Any) -> None:
        self.waiting -= 1
        super().answered(name, response)

    # -- what else happens -------------------------------------------------------------------------

    def _commit(self, names: list[str], options: dict[str, str]) -> None:
        player = self.players.get(names[0], Player()) if names else Player()
        epoch = int(options.get("generation", player.generation))

        def commit(machine: GroupMachine, now_ms: int) -> Outcome[ErrorCode]:
            group = machine.shard.groups[GROUP]
            error = group.check_commit(
                member_id=player.member_id, instance_id=options.get("as"), epoch=epoch, transactional="transactional" in names
            )
            if not error:
                group.committed(player.member_id, now_ms)
            return Outcome(error)

        answer = self.desk.ask(commit)
        self.say("may commit" if answer is ErrorCode.NONE else answer.name)

    def _delete(self, names: list[str], options: dict[str, str]) -> None:
        def delete(machine: GroupMachine, _: int) -> Outcome[ErrorCode]:
            group = machine.shard.groups[GROUP]
            error = group.check_delete()
            return Outcome(error, [] if error else group.tombstones())

        self.say("delete: " + self.desk.ask(delete).name)

    def _wait(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.wait(int(names[0]))

    def _lag(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.log.lagging = True

    def _catch(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.log.catch_up()

    def _fail(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.log.catch_up(ErrorCode[names[0]])

    def _refuse(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.log.refusal = ErrorCode[names[0]]

    def _accept(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.log.refusal = ErrorCode.NONE

    def _restart(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.restart()

    def _unload(self, names: list[str], options: dict[str, str]) -> None:
        self.desk.unload()


_SETTING = re.compile(r"^# with (\w+)=(\d+)$")


def performed(scene: str) -> str:
    """The transcript of a scene: its comments and events, with their consequences."""
    settings: dict[str, Any] = {}
    lines = scene.splitlines()
    for line in lines:
        if found := _SETTING.match(line):
            settings[found[1]] = int(found[2])
    play = Play(GroupSettings(**settings))
    for line in lines:
        if line.startswith("#"):
            play.lines.append(line)
        elif line and not line.startswith(" "):
            play.perform(line)
    return "\n".join(play.lines)
