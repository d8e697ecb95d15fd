"""Scripts for classic members: their requests, and the text of the responses.

    join a [v=9] [as=instance] [protocols=range,sticky] [about=...] [session=10000]
           [rebalance=60000] [type=consumer] [id=...]
    sync a [a=x b=y] [generation=7] [protocol=...]       assignments by name
    heartbeat a [generation=7] [as=instance]
    leave a b [as=instance] [v=5]                        without names: by the instance id
    describe [v=6]

The script calls a member by its name, whatever ids the coordinator gives it; a name remembers the
last id and generation that it received. ``a'`` is a second client with the same instance id as
``a``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

GROUP = "g"
ADMIN = "admin"


@dataclass
class Player:
    member_id: str = ""
    generation: int = -1


class Script:
    group_id = GROUP

    def __init__(self) -> None:
        self.players: dict[str, Player] = {}
        self.lines: list[str] = []
        self._answers: list[tuple[str, Any]] = []

    def ask(self, name: str, request: Any, version: int) -> None:
        """Send a member's request to the coordinator; :meth:`answered` when the response is
        there.
        """
        raise NotImplementedError

    def perform(self, line: str) -> None:
        self.lines.append(line)
        words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        getattr(self, "_" + words[0])([word for word in words[1:] if "=" not in word], options)

    # -- responses ---------------------------------------------------------------------------------

    def say(self, line: str) -> None:
        self.lines.append("    " + line)

    def name_of(self, member_id: str) -> str:
        return next((name for name, player in self.players.items() if player.member_id == member_id), "?" if member_id else "nobody")

    def answered(self, name: str, response: Any) -> None:
        if isinstance(response, JoinGroupResponse):
            player = self.players[name]
            player.member_id = response.member_id or player.member_id
            player.generation = player.generation if response.error_code else response.generation_id
        self._answers.append((name, response))

    def tell_answers(self) -> None:
        """Only when all responses of a line are there: the leader's response names members that
        have not received their ids yet.
        """
        answers, self._answers = self._answers, []
        for name, response in answers:
            self.say(f"{name}: {self.told(response)}")

    def told(self, response: Any) -> str:
        code = response if isinstance(response, ErrorCode) else ErrorCode(getattr(response, "error_code", ErrorCode.NONE))
        if code:
            return code.name
        match response:
            case JoinGroupResponse():
                leads = response.leader == response.member_id
                roll = f" of {named(self.name_of(each.member_id) for each in response.members)}" if leads or response.members else ""
                skip = ", nothing to assign" if response.skip_assignment else ""
                return f"joined {response.generation_id} {response.protocol_name}, {'leads' if leads else 'follows'}{roll}{skip}"
            case SyncGroupResponse():
                return f"assigned {response.assignment.decode() or 'nothing'}"
            case LeaveGroupResponse():
                return " ".join(
                    f"{each.group_instance_id or self.name_of(each.member_id)} {_left(each.error_code)}" for each in response.members
                )
            case DescribeGroupsResponse():
                (group,) = response.groups
                error = f"{ErrorCode(group.error_code).name} " if group.error_code else ""
                members = named(f"{self.name_of(each.member_id)}={each.member_assignment.decode() or '-'}" for each in group.members)
                return f"{error}{group.group_state} {group.protocol_type or '-'} {group.protocol_data or '-'}: {members}"
            case _:
                return "fine"

    # -- what is asked -----------------------------------------------------------------------------

    def _join(self, names: list[str], options: dict[str, str]) -> None:
        (name,) = names
        player = self.players.setdefault(name, Player())
        if "id" in options:
            player.member_id = options["id"]
        request = JoinGroupRequest(
            group_id=self.group_id,
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
        self.ask(name, request, int(options.get("v", "9")))

    def _sync(self, names: list[str], options: dict[str, str]) -> None:
        (name,) = names
        player = self.players[name]
        given = {key: value for key, value in options.items() if key in self.players}
        version = int(options.get("v", "4"))
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=int(options.get("generation", player.generation)),
            member_id=player.member_id,
            group_instance_id=options.get("as"),
            protocol_type=options.get("type"),
            protocol_name=options.get("protocol"),
            assignments=[
                SyncGroupRequestAssignment(member_id=self.players[key].member_id, assignment=value.encode()) for key, value in given.items()
            ],
        )
        self.ask(name, request, version)

    def _heartbeat(self, names: list[str], options: dict[str, str]) -> None:
        (name,) = names
        player = self.players.setdefault(name, Player())
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=int(options.get("generation", player.generation)),
            member_id=player.member_id,
            group_instance_id=options.get("as"),
        )
        self.ask(name, request, 4)

    def _leave(self, names: list[str], options: dict[str, str]) -> None:
        leaving = [MemberIdentity(member_id=self.players[name].member_id, group_instance_id=options.get("as")) for name in names]
        if not names:
            leaving = [MemberIdentity(member_id="", group_instance_id=options["as"])]
        self.ask(ADMIN, LeaveGroupRequest(group_id=self.group_id, members=leaving), 5)

    def _describe(self, names: list[str], options: dict[str, str]) -> None:
        self.ask(ADMIN, DescribeGroupsRequest(groups=[self.group_id]), int(options.get("v", "6")))


def named(names: Iterable[str]) -> str:
    return " ".join(sorted(names)) or "nobody"


def _left(error_code: int) -> str:
    return ErrorCode(error_code).name if error_code else "left"
