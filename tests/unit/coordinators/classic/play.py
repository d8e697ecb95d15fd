"""A play of classic members and their coordinator: a script in, a transcript out.

A line of a script is something that happens; what follows from it is indented below it: the answers in the order they leave, the records
written, and the group's state when the line is over.

    join a [v=9] [as=instance] [protocols=range,sticky] [session=10000] [rebalance=60000] [type=consumer] [id=...]
    sync a [a=x b=y] [generation=7] [protocol=...]       assignments by name
    heartbeat a [generation=7] [as=instance]             leave a b [as=instance]            commit a [generation=7]
    wait 3000                                            delete                             describe
    lag | catch up | fail CODE                           the log's followers fall behind, follow, or the leader is replaced before they do
    refuse CODE | accept                                 the log takes nothing, and takes again
    restart                                              the log is read again, by another

A member is called by its name in the script, whatever ids the coordinator gives it; a name remembers the id and generation it was told
last. ``a'`` is the second client that pretends to be, or was started as, the same instance as ``a``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey, GroupMetadataValue
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.unit.coordinators.desk import Desk

GROUP = "g"


@dataclass
class Player:
    member_id: str = ""
    generation: int = -1


class Play:
    def __init__(self, settings: GroupSettings | None = None, seed: int = 0) -> None:
        self.desk = Desk(settings, seed=seed)
        self.players: dict[str, Player] = {}
        self.lines: list[str] = []
        self.waiting = 0
        self._answers: list[tuple[str, Any]] = []
        self._batches_seen = 0

    @property
    def group(self) -> ClassicGroup | None:
        group = self.desk.machine.shard.groups.get(GROUP)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def perform(self, line: str) -> None:
        self.lines.append(line)
        words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        names = [word for word in words[1:] if "=" not in word]
        getattr(self, "_" + words[0])(names, options)
        self._tell_answers()
        for record in self.desk.records(self._batches_seen):
            self._say("log: " + self._record(record.key, record.value))
        self._batches_seen = len(self.desk.log.batches)
        self._say("-> " + (self._state() if self.desk.runtime.active_partitions else "unloaded"))

    def _state(self) -> str:
        group = self.group
        return f"{group.state_name} {group.generation}" if group is not None else "no group"

    def _say(self, line: str) -> None:
        self.lines.append("    " + line)

    def _name(self, member_id: str) -> str:
        return next((name for name, player in self.players.items() if player.member_id == member_id), "?" if member_id else "nobody")

    def _named(self, names: Any) -> str:
        return " ".join(sorted(names)) or "nobody"

    def _record(self, key: Any, value: GroupMetadataValue | None) -> str:
        assert isinstance(key, GroupMetadataKey)
        if value is None:
            return "deleted"
        members = self._named(f"{self._name(each.member_id)}={each.assignment.decode() or '-'}" for each in value.members)
        leader = f" led by {self._name(value.leader)}" if value.leader else ""
        return f"generation {value.generation} {value.protocol or 'without protocol'}{leader}: {members}"

    def _run(self, name: str, operation: Any) -> Promise[Any]:
        """Whoever asks is answered once; until then it waits."""
        self.waiting += 1
        answer: Promise[Any] = self.desk.run(operation)
        answer.then(lambda response: self._answered(name, response))
        return answer

    def _answered(self, name: str, response: Any) -> None:
        self.waiting -= 1
        if isinstance(response, JoinGroupResponse):
            player = self.players[name]
            player.member_id = response.member_id or player.member_id
            player.generation = player.generation if response.error_code else response.generation_id
        self._answers.append((name, response))

    def _tell_answers(self) -> None:
        """Only when all of a line are there: a leader's answer names members that have not heard their own ids yet."""
        answers, self._answers = self._answers, []
        for name, response in answers:
            self._say(f"{name}: {self._told(response)}")

    def _told(self, response: Any) -> str:
        code = response if isinstance(response, ErrorCode) else ErrorCode(response.error_code)
        if code:
            return code.name
        match response:
            case JoinGroupResponse():
                leads = response.leader == response.member_id
                roll = f" of {self._named(self._name(each.member_id) for each in response.members)}" if leads or response.members else ""
                skip = ", nothing to assign" if response.skip_assignment else ""
                return f"joined {response.generation_id} {response.protocol_name}, {'leads' if leads else 'follows'}{roll}{skip}"
            case SyncGroupResponse():
                return f"assigned {response.assignment.decode() or 'nothing'}"
            case _:
                return "fine"

    # -- what happens ---------------------------------------------------------------------------------------------------------

    def _join(self, names: list[str], options: dict[str, str]) -> None:
        (name,) = names
        player = self.players.setdefault(name, Player())
        if "id" in options:
            player.member_id = self.players[options["id"]].member_id if options["id"] in self.players else options["id"]
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=int(options.get("session", "10000")),
            rebalance_timeout_ms=int(options.get("rebalance", "60000")),
            member_id=player.member_id,
            group_instance_id=options.get("as"),
            protocol_type=options.get("type", "consumer"),
            protocols=[
                JoinGroupRequestProtocol(name=each, metadata=options.get("about", "").encode())
                for each in options.get("protocols", "range").split(",")
                if each
            ],
        )
        version = int(options.get("v", "9"))
        self._run(
            name,
            lambda machine, now_ms: machine.classic.join(request, version=version, client_id="client", client_host="/h", now_ms=now_ms),
        )

    def _sync(self, names: list[str], options: dict[str, str]) -> None:
        (name,) = names
        player = self.players[name]
        given = {key: value for key, value in options.items() if key in self.players}
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=int(options.get("generation", player.generation)),
            member_id=player.member_id,
            group_instance_id=options.get("as"),
            protocol_type=options.get("type"),
            protocol_name=options.get("protocol"),
            assignments=[
                SyncGroupRequestAssignment(member_id=self.players[key].member_id, assignment=value.encode()) for key, value in given.items()
            ],
        )
        self._run(name, lambda machine, now_ms: machine.classic.sync(request, now_ms=now_ms))

    def _heartbeat(self, names: list[str], options: dict[str, str]) -> None:
        (name,) = names
        player = self.players.setdefault(name, Player())
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=int(options.get("generation", player.generation)),
            member_id=player.member_id,
            group_instance_id=options.get("as"),
        )
        self._run(name, lambda machine, now_ms: machine.classic.heartbeat(request, now_ms=now_ms))

    def _leave(self, names: list[str], options: dict[str, str]) -> None:
        leaving = [MemberIdentity(member_id=self.players[name].member_id, group_instance_id=options.get("as")) for name in names]
        if not names:
            leaving = [MemberIdentity(member_id="", group_instance_id=options["as"])]
        request = LeaveGroupRequest(group_id=GROUP, members=leaving)
        response = self.desk.ask(lambda machine, now_ms: machine.classic.leave(request, version=5, now_ms=now_ms))
        if isinstance(response, ErrorCode):
            self._say(f"leaving: {response.name}")
            return
        for name, answer in zip(names or [options["as"]], response.members, strict=True):
            self._say(f"{name}: {ErrorCode(answer.error_code).name if answer.error_code else 'left'}")

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
        self._say("may commit" if answer is ErrorCode.NONE else answer.name)

    def _delete(self, names: list[str], options: dict[str, str]) -> None:
        def delete(machine: GroupMachine, _: int) -> Outcome[ErrorCode]:
            group = machine.shard.groups[GROUP]
            error = group.check_delete()
            return Outcome(error, [] if error else group.tombstones())

        self._say("delete: " + self.desk.ask(delete).name)

    def _describe(self, names: list[str], options: dict[str, str]) -> None:
        group = self.desk.ask(lambda machine, _: machine.classic.describe(GROUP))
        assert not isinstance(group, ErrorCode)
        members = self._named(f"{self._name(each.member_id)}={each.member_assignment.decode() or '-'}" for each in group.members)
        self._say(f"{group.group_state} {group.protocol_type or '-'} {group.protocol_data or '-'}: {members}")

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
    """The transcript of a scene: its comments and what happens in it, with what follows from that."""
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
