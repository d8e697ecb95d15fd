"""Members of groups, of both protocols, and who may own what.

Classic: of one generation, no partition is told to two members; and a generation that members were told of survives. Consumer: a
partition is given to a member when nobody has it any more, not even to give it up; and epochs that members were told of survive.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, GROUPS_SHARD, TOPIC_IDS
from tests.simulation.coordinators.offsets import commit_request
from tests.simulation.coordinators.world import Ask, Script, World

CLASSIC, CONSUMER = "classic", "consumer"
SESSION_TIMEOUT_MS = 10_000
REBALANCE_TIMEOUT_MS = 15_000
# What a leader of a classic group divides: more than there are members.
SHARED = 6


# -- classic ------------------------------------------------------------------------------------------------------------------


class ClassicWitness:
    def __init__(self, world: World) -> None:
        self._world = world
        self._owners: dict[int, dict[bytes, str]] = defaultdict(dict)
        self._assigned: dict[int, dict[str, bytes]] = defaultdict(dict)
        self.generations = 0
        world.witnesses.append(self.see)
        world.on_loaded.append(self.loaded)

    def see(self, request: Any, answer: Promise[Any]) -> None:
        if isinstance(request, SyncGroupRequest):
            answer.then(lambda response: self._synced(request, response))

    def _synced(self, request: SyncGroupRequest, response: SyncGroupResponse) -> None:
        if response.error_code:
            return
        # Whoever comes back as a static member has its place, and fences the one before.
        member = request.group_instance_id or request.member_id
        owners, assigned = self._owners[request.generation_id], self._assigned[request.generation_id]
        known = assigned.setdefault(member, response.assignment)
        assert known == response.assignment, f"generation {request.generation_id}: {member} was told {known!r} and {response.assignment!r}"
        for partition in response.assignment.split():
            owner = owners.setdefault(partition, member)
            assert owner == member, f"generation {request.generation_id}: {partition!r} belongs to {owner} and to {member}"
        self.generations = max(self.generations, request.generation_id)

    def loaded(self, partition: TopicPartition) -> None:
        """What members were told is in the log."""
        machine = self._world.node.group_machine
        if partition != GROUPS_SHARD or machine is None or not self.generations:
            return
        group = machine.shard.groups.get(CLASSIC)
        assert isinstance(group, ClassicGroup), "a group that was told of is forgotten"
        assert group.generation >= self.generations, f"generation {self.generations} was told of, {group.generation} is known"
        if group.generation == self.generations and group.state is ClassicState.STABLE:
            assigned = self._assigned[group.generation]
            for member in group.members.values():
                told = assigned.get(member.instance_id or member.member_id, member.assignment)
                assert member.assignment == told, f"{member.member_id} was told {told!r} and has {member.assignment!r}"


class ClassicMember:
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
            if not (yield from self._work(joined.generation_id)):
                return

    def _forget_if_unknown(self, response: Any) -> None:
        if response is not None and response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self._member_id = ""

    def _join(self) -> Ask:
        request = JoinGroupRequest(
            group_id=CLASSIC,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type="work",
            protocols=[JoinGroupRequestProtocol(name="share", metadata=b"")],
        )
        return Ask(request, 9)

    def _sync(self, joined: JoinGroupResponse) -> Ask:
        shares: dict[str, list[bytes]] = {member.member_id: [] for member in joined.members}
        if shares and not joined.skip_assignment:
            for number in range(SHARED):
                shares[self._world.chance.choice(list(shares))].append(b"%d" % number)
        request = SyncGroupRequest(
            group_id=CLASSIC,
            generation_id=joined.generation_id,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type="work",
            protocol_name="share",
            assignments=[SyncGroupRequestAssignment(member_id=name, assignment=b" ".join(share)) for name, share in shares.items()],
        )
        return Ask(request, 5)

    def _work(self, generation: int) -> Any:
        """Until the group is called together again; False when this member goes."""
        chance = self._world.chance
        while True:
            if chance.random() < 0.1:
                members = [MemberIdentity(member_id=self._member_id, group_instance_id=self._instance_id)]
                yield Ask(LeaveGroupRequest(group_id=CLASSIC, members=members), 5)
                return False
            if chance.random() < 0.4 and self._instance_id is None:
                offset = chance.randrange(1 << 30)
                yield commit_request(CLASSIC, chance.randrange(DATA_PARTITIONS), offset, member_id=self._member_id, epoch=generation)
                continue
            request = HeartbeatRequest(
                group_id=CLASSIC, generation_id=generation, member_id=self._member_id, group_instance_id=self._instance_id
            )
            beaten = yield Ask(request, 4)
            if beaten is None or not beaten.error_code:
                continue
            if beaten.error_code == ErrorCode.FENCED_INSTANCE_ID:
                return False
            self._forget_if_unknown(beaten)
            return True


# -- consumer -----------------------------------------------------------------------------------------------------------------


class ConsumerWitness:
    def __init__(self, world: World) -> None:
        self._world = world
        self._told: Counter[str] = Counter()
        """By member: the highest epoch it was told."""
        self.members: list[ConsumerMember] = []
        self.epochs = 0
        world.witnesses.append(self.see)
        world.checks.append(self.check)
        world.on_loaded.append(self.loaded)

    def group(self) -> ConsumerGroup | None:
        machine = self._world.node.group_machine
        group = machine.shard.groups.get(CONSUMER) if machine is not None else None
        return group if isinstance(group, ConsumerGroup) else None

    def check(self) -> None:
        group = self.group()
        if group is None:
            return
        owners: dict[Any, str] = {}
        for member in group.members.values():
            for partition in (*member.ownership.assigned, *member.ownership.revoking):
                other = owners.setdefault(partition, member.member_id)
                assert other == member.member_id, f"{partition} belongs to {other} and to {member.member_id}"

    def see(self, request: Any, answer: Promise[Any]) -> None:
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            answer.then(lambda response: self._beaten(request, response))

    def _beaten(self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse) -> None:
        if not response.error_code:
            member_id = request.member_id
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
            told = self._told[member.member_id]
            assert member.epoch >= told, f"{member.member_id} was told of epoch {told}, and is known at {member.epoch}"

    def given(self, receiver: ConsumerMember) -> None:
        """A member has just been told what it owns: no other believes to own it, of those that the group knows."""
        group = self.group()
        if group is None or receiver.member_id not in group.members:
            return
        for other in self.members:
            if other is not receiver and other.member_id in group.members:
                both = receiver.owned & other.owned
                assert not both, f"{receiver.member_id} and {other.member_id} both own {both}"


class ConsumerMember:
    """Its messages keep their order: what it says it owns must not come late."""

    def __init__(self, world: World, witness: ConsumerWitness, name: str) -> None:
        self._world = world
        self._witness = witness
        self._name = name
        self._incarnation = 0
        self.member_id = ""
        self.owned: frozenset[int] = frozenset()
        witness.members.append(self)

    def script(self) -> Script:
        self._incarnation += 1
        self.member_id, self.owned = f"{self._name}-{self._incarnation}", frozenset()
        chance = self._world.chance
        epoch = 0
        while True:
            if epoch and chance.random() < 0.05:
                # From now on it owns nothing, whether or not the news arrives.
                self.owned = frozenset()
                yield self._beat(-1, joining=False)
                return
            if epoch and chance.random() < 0.3:
                offset = chance.randrange(1 << 30)
                yield commit_request(CONSUMER, chance.randrange(DATA_PARTITIONS), offset, member_id=self.member_id, epoch=epoch)
                continue
            response = yield self._beat(epoch, joining=epoch == 0)
            if response is None:
                continue
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                epoch, self.owned = 0, frozenset()
            elif not response.error_code:
                epoch = response.member_epoch
                if response.assignment is not None:
                    self.owned = frozenset(index for topic in response.assignment.topic_partitions for index in topic.partitions)
                    self._witness.given(self)

    def _beat(self, epoch: int, *, joining: bool) -> Ask:
        owned = [TopicPartitions(topic_id=TOPIC_IDS[DATA], partitions=sorted(self.owned))] if self.owned else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=CONSUMER,
            member_id=self.member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if joining else -1,
            subscribed_topic_names=[DATA] if joining else None,
            topic_partitions=owned,
        )
        return Ask(request, 1)


def classic_members(world: World) -> list[tuple[str, Callable[[], Script]]]:
    dynamic = [(f"{CLASSIC} {number}", ClassicMember(world).script) for number in range(2)]
    static = [(f"{CLASSIC} static", ClassicMember(world, "i").script) for _ in range(2)]
    return dynamic + static
