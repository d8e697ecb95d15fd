"""Members of a classic group: in one generation no partition is assigned to two of them, and a
generation that a member has seen survives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.simulation.coordinators.node import DATA_PARTITIONS, GROUPS_SHARD
from tests.simulation.coordinators.offsets import commit_request
from tests.simulation.coordinators.world import Ask, Script, World

CLASSIC = "classic"
SESSION_TIMEOUT_MS = 10_000
REBALANCE_TIMEOUT_MS = 15_000


class ClassicWitness:
    def __init__(self, world: World) -> None:
        self._world = world
        self._owners: dict[int, dict[bytes, str]] = defaultdict(dict)
        self._assigned: dict[int, dict[str, bytes]] = defaultdict(dict)
        self.generations = 0
        world.witnesses.append(self.see)
        world.on_loaded.append(self.loaded)

    def see(self, request: Any, answer: Promise[Any]) -> None:
        if isinstance(request, SyncGroupRequest) and request.group_id == CLASSIC:
            answer.then(lambda response: self._synced(request, response))

    def _synced(self, request: SyncGroupRequest, response: SyncGroupResponse) -> None:
        if response.error_code:
            return
        # A returning static member keeps its place, and fences the process before it.
        member = request.group_instance_id or request.member_id
        owners, assigned = self._owners[request.generation_id], self._assigned[request.generation_id]
        known = assigned.setdefault(member, response.assignment)
        assert known == response.assignment, f"generation {request.generation_id}: {member} got {known!r} and {response.assignment!r}"
        for partition in response.assignment.split():
            owner = owners.setdefault(partition, member)
            assert owner == member, f"generation {request.generation_id}: {partition!r} belongs to {owner} and to {member}"
        self.generations = max(self.generations, request.generation_id)

    def loaded(self, partition: TopicPartition) -> None:
        """Every assignment that a member has received is in the log."""
        machine = self._world.node.group_machine
        if partition != GROUPS_SHARD or machine is None or not self.generations:
            return
        group = machine.shard.groups.get(CLASSIC)
        assert isinstance(group, ClassicGroup), "a group that members have seen is lost"
        assert group.generation >= self.generations, f"generation {self.generations} was seen, {group.generation} is known"
        if group.generation == self.generations and group.state is ClassicState.STABLE:
            assigned = self._assigned[group.generation]
            for member in group.members.values():
                reported = assigned.get(member.instance_id or member.member_id, member.assignment)
                assert member.assignment == reported, f"{member.member_id} got {reported!r} and has {member.assignment!r}"


class ClassicMember:
    """Subclasses change the subscription and the assignor."""

    group, protocol_type, protocol = CLASSIC, "work", "share"
    shared = 6  # the partitions that a leader assigns: more than there are members

    def __init__(self, world: World, instance_id: str | None = None) -> None:
        self._world = world
        self._instance_id = instance_id
        self._member_id = ""

    def script(self) -> Script:
        self._member_id = ""
        while True:
            joined = yield self._join()
            if joined is None or joined.error_code:
                if joined is not None and joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    self._member_id = joined.member_id
                elif joined is not None and joined.error_code == ErrorCode.FENCED_INSTANCE_ID:
                    return
                elif joined is not None and joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                    self._member_id = ""
                continue
            self._member_id = joined.member_id
            synced = yield self._sync(joined)
            if synced is None or synced.error_code:
                self._forget_if_unknown(synced)
                continue
            self.assigned(synced.assignment)
            if not (yield from self._work(joined.generation_id)):
                return

    def assigned(self, assignment: bytes) -> None:
        """The member owns these partitions now."""

    def _forget_if_unknown(self, response: Any) -> None:
        if response is not None and response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self._member_id = ""

    def subscription(self) -> bytes:
        return b""

    def share(self, numbers: list[int]) -> bytes:
        return b" ".join(b"%d" % number for number in numbers)

    def _join(self) -> Ask:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type=self.protocol_type,
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=self.subscription())],
        )
        return Ask(request, 9)

    def _sync(self, joined: JoinGroupResponse) -> Ask:
        shares: dict[str, list[int]] = {member.member_id: [] for member in joined.members}
        if shares and not joined.skip_assignment:
            for number in range(self.shared):
                shares[self._world.chance.choice(list(shares))].append(number)
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=joined.generation_id,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            assignments=[SyncGroupRequestAssignment(member_id=name, assignment=self.share(share)) for name, share in shares.items()],
        )
        return Ask(request, 5)

    def _work(self, generation: int) -> Any:
        """Until the group rebalances; False when this member leaves."""
        chance = self._world.chance
        while True:
            if chance.random() < 0.1:
                members = [MemberIdentity(member_id=self._member_id, group_instance_id=self._instance_id)]
                yield Ask(LeaveGroupRequest(group_id=self.group, members=members), 5)
                return False
            if chance.random() < 0.4 and self._instance_id is None:
                offset = chance.randrange(1 << 30)
                yield commit_request(self.group, chance.randrange(DATA_PARTITIONS), offset, member_id=self._member_id, epoch=generation)
                continue
            request = HeartbeatRequest(
                group_id=self.group, generation_id=generation, member_id=self._member_id, group_instance_id=self._instance_id
            )
            beaten = yield Ask(request, 4)
            if beaten is None or not beaten.error_code:
                continue
            if beaten.error_code == ErrorCode.FENCED_INSTANCE_ID:
                return False
            self._forget_if_unknown(beaten)
            return True


def classic_members(world: World) -> list[tuple[str, Callable[[], Script]]]:
    dynamic = [(f"{CLASSIC} {number}", ClassicMember(world).script) for number in range(2)]
    static = [(f"{CLASSIC} static", ClassicMember(world, "i").script) for _ in range(2)]
    return dynamic + static
