"""Groups that change their protocol, empty or with members (KIP-848's online migration)."""

from __future__ import annotations

from typing import Any

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.consumer.embedded_protocol import read_assignment, read_subscription, write_assignment
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.model.errors import ErrorCode
from barnabas.wire.compiler import encode
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription, TopicPartition
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.unit.coordinators.consumer.desk import GROUP, SHARD, Desk

VERSION = 2
SESSION_MS = 10_000
REBALANCE_MS = 60_000


class Migrating(Desk):
    """A desk that also serves classic members."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        super().__init__(settings or GroupSettings(consumer_assignment_interval_ms=0, initial_rebalance_delay_ms=0))
        self.topic("a", 4)

    def kind(self) -> GroupKind:
        return self.machine.shard.groups[GROUP].kind

    def classic_join(
        self, member_id: str = "", *, owned: str = "-", instance_id: str | None = None, topics: tuple[str, ...] = ("a",), **other: Any
    ) -> Any:
        """The promise of a response; ``owned`` is in the desk's language."""
        by_name = [TopicPartition(topic="a", partitions=[partition for _, partition in self.partitions(owned)])]
        said = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=by_name, generation_id=-1)
        metadata = VERSION.to_bytes(2, "big") + encode(said, VERSION)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=other.get("protocol_type", "consumer"),
            protocols=[JoinGroupRequestProtocol(name=other.get("protocol", "range"), metadata=metadata)],
        )
        return self._run(
            lambda machine: machine.classic.join(
                request, version=other.get("version", 9), client_id="old", client_host="/old", now_ms=self.now_ms
            )
        )

    def classic_sync(self, member_id: str, generation: int, assignments: dict[str, str] | None = None, **other: Any) -> Any:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=each, assignment=write_assignment(self.partitions(partitions), self.image.topics, VERSION)
                )
                for each, partitions in (assignments or {}).items()
            ],
            **other,
        )
        return self._run(lambda machine: machine.classic.sync(request, now_ms=self.now_ms))

    def classic_heartbeat(self, member_id: str, generation: int) -> ErrorCode:
        request = HeartbeatRequest(group_id=GROUP, member_id=member_id, generation_id=generation)
        return ErrorCode(self._run(lambda machine: machine.classic.heartbeat(request, now_ms=self.now_ms)).value.error_code)

    def classic_leave(self, **who: str) -> ErrorCode:
        request = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(**who)])
        answer = self._run(lambda machine: machine.classic.leave(request, version=5, now_ms=self.now_ms)).value
        return ErrorCode(answer.members[0].error_code)

    def _run(self, operation: Any) -> Any:
        return self.runtime.run(SHARD, self.now_ms, operation)

    def owned(self, response: SyncGroupResponse) -> str:
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        assigned = read_assignment("range", response.assignment, self.image.topics)
        assert assigned is not None
        return self._names(assigned)

    def told(self, response: ConsumerGroupHeartbeatResponse | ErrorCode) -> str:
        return self._answered(response)

    def classic_group(self, instance_id: str | None = None) -> str:
        """Create a stable classic group of one member, which owns everything; return the member's
        id.
        """
        if instance_id is None:
            member_id = self.classic_join().value.member_id
            joined = self.classic_join(member_id)
        else:
            joined = self.classic_join(instance_id=instance_id)
        self.wait(1)
        joined = joined.value
        assert isinstance(joined, JoinGroupResponse)
        assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 1)
        synced = self.classic_sync(joined.member_id, 1, {joined.member_id: "a0,a1,a2,a3"})
        assert self.owned(synced.value) == "a0,a1,a2,a3"
        return joined.member_id


def test_an_empty_classic_group_becomes_a_consumer_group_in_one_batch() -> None:
    desk = Migrating()
    old = desk.classic_group()
    assert desk.classic_leave(member_id=old) is ErrorCode.NONE
    assert desk.told(desk.join("A", ["a"])) == "epoch 1 a0,a1,a2,a3"
    assert desk.kind() is GroupKind.CONSUMER
    desk.reload()
    assert desk.kind() is GroupKind.CONSUMER
    assert list(desk.group.members) == ["A"]


def test_an_empty_consumer_group_becomes_a_classic_group() -> None:
    desk = Migrating()
    desk.join("A", ["a"], pattern="b.*")
    desk.beat("A", epoch=-1)
    desk.classic_group()
    assert desk.kind() is GroupKind.CLASSIC
    desk.reload()
    assert desk.kind() is GroupKind.CLASSIC


def test_a_group_is_upgraded_with_all_members_and_downgraded_with_the_remaining_ones() -> None:
    desk = Migrating()
    old = desk.classic_group()
    assert desk.told(desk.join("A", ["a"])) == "epoch 2 -"
    assert desk.kind() is GroupKind.CONSUMER
    assert desk.group.members[old].epoch == 1
    # The classic member gets REBALANCE_IN_PROGRESS, revokes two partitions, and rejoins for its
    # epoch.
    assert desk.classic_heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    first = desk.classic_join(old, owned="a0,a1,a2,a3").value
    assert (first.error_code, first.generation_id, first.leader, first.protocol_name) == (ErrorCode.NONE, 1, "", "range")
    assert desk.owned(desk.classic_sync(old, 1).value) == "a0,a1"
    assert desk.classic_heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    second = desk.classic_join(old, owned="a0,a1").value
    assert second.generation_id == 2
    assert desk.owned(desk.classic_sync(old, 2, protocol_type="consumer", protocol_name="range").value) == "a0,a1"
    assert desk.classic_heartbeat(old, 2) is ErrorCode.NONE
    assert desk.told(desk.beat("A")) == "epoch 2 a2,a3"
    assert desk.group.state_name == "Stable"
    desk.reload()
    assert desk.classic_heartbeat(old, 2) is ErrorCode.NONE
    # The group is downgraded again.
    desk.beat("A", epoch=-1)
    assert desk.kind() is GroupKind.CLASSIC
    group = desk.machine.shard.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert (group.generation, group.state_name) == (2, "PreparingRebalance")
    assert desk.classic_heartbeat(old, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    again = desk.classic_join(old, owned="a0,a1").value
    assert (again.error_code, again.generation_id, again.leader) == (ErrorCode.NONE, 3, old)
    desk.reload()
    assert desk.kind() is GroupKind.CLASSIC


def test_a_parked_join_of_an_old_member_is_answered_when_its_group_is_upgraded() -> None:
    desk = Migrating()
    old = desk.classic_group()
    other = desk.classic_join().value.member_id
    waiting = desk.classic_join(other)
    assert not waiting.done
    desk.join("A", ["a"])
    assert waiting.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert set(desk.group.members) == {old, other, "A"}


def test_old_members_that_do_not_rejoin_sync_or_heartbeat_are_out() -> None:
    desk = Migrating()
    old = desk.classic_group()
    desk.join("A", ["a"], timeout_ms=300_000)
    desk.wait(SESSION_MS)
    assert list(desk.group.members) == ["A"]

    desk = Migrating()
    old = desk.classic_group()
    desk.join("A", ["a"], timeout_ms=300_000)
    for _ in range(REBALANCE_MS // 5_000):
        assert desk.classic_heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
        desk.beat("A")
        desk.wait(5_000)
    assert list(desk.group.members) == ["A"]

    desk = Migrating()
    desk.join("A", ["a"], timeout_ms=300_000)
    new = desk.classic_join().value
    assert new.error_code == ErrorCode.MEMBER_ID_REQUIRED
    desk.classic_join(new.member_id)
    for _ in range(REBALANCE_MS // 5_000):
        assert desk.classic_heartbeat(new.member_id, 2) is ErrorCode.NONE
        desk.beat("A")
        desk.wait(5_000)
    assert list(desk.group.members) == ["A"]


def test_a_classic_member_joins_a_consumer_group_and_waits_for_revoked_partitions() -> None:
    desk = Migrating()
    desk.join("A", ["a"])
    new = desk.classic_join().value.member_id
    joined = desk.classic_join(new).value
    assert joined.generation_id == 2
    assert desk.owned(desk.classic_sync(new, 2).value) == "-"
    assert desk.classic_heartbeat(new, 2) is ErrorCode.NONE
    desk.beat("A", owned=desk.partitions("a0,a1"))
    assert desk.classic_heartbeat(new, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    desk.classic_join(new)
    assert desk.owned(desk.classic_sync(new, 2).value) == "a2,a3"
    assert desk.classic_leave(member_id=new) is ErrorCode.NONE
    assert list(desk.group.members) == ["A"]
    assert desk.kind() is GroupKind.CONSUMER


def test_requests_of_old_members_are_checked() -> None:
    desk = Migrating()
    desk.join("A", ["a"])
    new = desk.classic_join().value.member_id
    desk.classic_join(new)
    assert desk.classic_heartbeat(new, 1) is ErrorCode.ILLEGAL_GENERATION
    assert desk.classic_heartbeat("A", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert desk.classic_heartbeat("nobody", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert desk.classic_sync(new, 1).value.error_code == ErrorCode.ILLEGAL_GENERATION
    assert desk.classic_sync("A", 1).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert desk.classic_sync(new, 2, protocol_name="other").value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert desk.classic_leave(member_id="nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert desk.classic_join(protocol_type="connect").value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert desk.classic_join(protocol="sticky").value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    check = desk.group.check_commit(member_id=new, instance_id=None, epoch=9, transactional=False)
    assert check is ErrorCode.ILLEGAL_GENERATION


def test_a_static_member_restarts_with_the_new_protocol_and_then_with_the_old() -> None:
    desk = Migrating()
    desk.classic_group(instance_id="i")
    assert desk.told(desk.join("A", ["a"], instance_id="i")) == "epoch 1 a0,a1,a2,a3"
    assert list(desk.group.members) == ["A"]
    joined = desk.classic_join(instance_id="i").value
    assert joined.error_code == ErrorCode.NONE
    assert desk.kind() is GroupKind.CLASSIC
    desk.reload()
    group = desk.machine.shard.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert group.instances == {"i": joined.member_id}


def test_the_policy_may_forbid_either_way() -> None:
    def settings(policy: str) -> GroupSettings:
        return GroupSettings(consumer_assignment_interval_ms=0, initial_rebalance_delay_ms=0, consumer_migration_policy=policy)

    for policy, upgrades in (("disabled", False), ("downgrade", False), ("upgrade", True), ("bidirectional", True)):
        desk = Migrating(settings(policy))
        desk.classic_group()
        assert desk.told(desk.join("A", ["a"])) == ("epoch 2 -" if upgrades else "GROUP_ID_NOT_FOUND")
        assert desk.kind() is (GroupKind.CONSUMER if upgrades else GroupKind.CLASSIC)

    for policy, downgrades in (("disabled", False), ("upgrade", False), ("downgrade", True), ("bidirectional", True)):
        desk = Migrating(settings(policy))
        desk.join("A", ["a"])
        desk.classic_join(desk.classic_join().value.member_id)
        desk.beat("A", epoch=-1)
        assert desk.kind() is (GroupKind.CLASSIC if downgrades else GroupKind.CONSUMER)


def test_groups_that_are_not_of_consumers_are_not_upgraded() -> None:
    desk = Migrating()
    member_id = desk.classic_join(protocol_type="connect").value.member_id
    desk.classic_join(member_id, protocol_type="connect")
    desk.wait(1)
    assert desk.told(desk.join("A", ["a"])) == "GROUP_ID_NOT_FOUND"


def test_an_assignment_with_user_data_of_an_unknown_assignor_is_not_read() -> None:
    desk = Migrating()
    said = ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"mine")
    assignment = VERSION.to_bytes(2, "big") + encode(said, VERSION)
    assert read_assignment("cooperative-sticky", assignment, desk.image.topics) == frozenset()
    assert read_assignment("my-own", assignment, desk.image.topics) is None
    assert read_assignment("range", b"\x00", desk.image.topics) is None
    assert read_assignment("range", assignment[:-2], desk.image.topics) is None
    assert read_subscription(b"\x00\x03\x00", desk.image.topics) is None


def test_a_classic_group_continues_when_the_log_refuses_its_upgrade() -> None:
    desk = Migrating()
    old = desk.classic_group()
    desk.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert desk.join("A", ["a"]) is ErrorCode.NOT_ENOUGH_REPLICAS
    desk.refusal = ErrorCode.NONE
    assert desk.classic_heartbeat(old, 1) is ErrorCode.NONE
    assert isinstance(desk.machine, GroupMachine)
    assert desk.kind() is GroupKind.CLASSIC
