"""Validity of heartbeats, and permission to commit, fetch, delete and describe."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.coordinators.group.consumer.member import MemberState, Ownership
from barnabas.coordinators.group.consumer.reconciliation import reconcile
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.records.record import open_batch
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.unit.coordinators.consumer.desk import Desk

TOPIC_ID = Uuid(b"a" * 16)


def joining(**other: Any) -> ConsumerGroupHeartbeatRequest:
    said: dict[str, Any] = {
        "group_id": "g",
        "member_id": "A",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1_000,
        "subscribed_topic_names": ["a"],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**{**said, **other})


def code_of(desk: Desk, request: ConsumerGroupHeartbeatRequest, version: int = 1) -> ErrorCode:
    response = desk.heartbeat(request, version)
    assert not isinstance(response, ErrorCode)
    if response.error_code != ErrorCode.NONE:
        assert response.error_message
    return ErrorCode(response.error_code)


@pytest.mark.parametrize(
    "said",
    [
        {"group_id": ""},
        {"member_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": [TopicPartitions(topic_id=TOPIC_ID, partitions=[0])]},
        {"subscribed_topic_names": None},
        {"member_epoch": -3},
        {"member_epoch": -2, "instance_id": None},
        {"member_epoch": -1, "member_id": ""},
        {"member_epoch": 1, "member_id": ""},
    ],
    ids=str,
)
def test_a_heartbeat_that_makes_no_sense_is_invalid(said: dict[str, Any]) -> None:
    assert code_of(Desk(), joining(**said)) is ErrorCode.INVALID_REQUEST


def test_the_first_version_gives_out_member_ids() -> None:
    desk = Desk()
    response = desk.heartbeat(joining(member_id=""), version=0)
    assert not isinstance(response, ErrorCode)
    assert response.member_id is not None
    assert len(response.member_id) == 22
    assert list(desk.group.members) == [response.member_id]
    assert code_of(desk, joining(member_id="", member_epoch=1), version=0) is ErrorCode.INVALID_REQUEST


def test_an_assignor_that_is_not_configured_is_refused() -> None:
    assert code_of(Desk(), joining(server_assignor="mine")) is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert code_of(Desk(GroupSettings(consumer_assignors=("range",))), joining(server_assignor="uniform")) is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_a_full_group_refuses_new_members() -> None:
    desk = Desk(GroupSettings(consumer_size_max=1))
    assert code_of(desk, joining()) is ErrorCode.NONE
    assert code_of(desk, joining(member_id="B")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert code_of(desk, joining()) is ErrorCode.NONE


def test_a_pattern_that_cannot_be_read_is_refused_and_leaves_no_trace() -> None:
    desk = Desk()
    assert code_of(desk, joining(subscribed_topic_names=None, subscribed_topic_regex="a(")) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert desk.batches == []
    assert desk.machine.shard.groups == {}


def test_a_group_has_its_own_intervals_within_the_brokers_bounds() -> None:
    desk = Desk()
    desk.own_settings = {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "50000"}
    response = desk.heartbeat(joining())
    assert not isinstance(response, ErrorCode)
    assert response.heartbeat_interval_ms == 7_000
    desk.wait(49_999)
    assert desk.group.members
    desk.wait(1)
    assert not desk.group.members
    desk.own_settings = {"consumer.heartbeat.interval.ms": "1"}
    response = desk.heartbeat(joining())
    assert not isinstance(response, ErrorCode)
    assert response.heartbeat_interval_ms == 5_000


def test_a_full_heartbeat_is_answered_with_everything_and_an_ordinary_one_with_changes() -> None:
    desk = Desk()
    desk.topic("a", 1)
    desk.join("A", ["a"])
    ordinary = desk.beat("A")
    full = desk.beat("A", owned=[], topics=["a"], timeout_ms=1_000)
    assert not isinstance(ordinary, ErrorCode)
    assert not isinstance(full, ErrorCode)
    assert ordinary.assignment is None
    assert full.assignment is not None


def test_a_member_in_a_state_of_another_version_must_come_back_with_nothing() -> None:
    strange = Ownership(3, 2, MemberState(42), {(TOPIC_ID, 0): 3})
    assert strange.state is MemberState.UNKNOWN

    def next_for(reported: frozenset[tuple[Uuid, int]] | None) -> Ownership | None:
        return reconcile(
            strange,
            target_epoch=4,
            target=frozenset({(TOPIC_ID, 0)}),
            reported=reported,
            subscribed_ids={TOPIC_ID},
            subscription_changed=False,
            free=lambda _: True,
        )

    assert next_for(None) is None
    assert next_for(frozenset({(TOPIC_ID, 0)})) is None
    assert next_for(frozenset()) == Ownership(4, 3, MemberState.STABLE, {(TOPIC_ID, 0): 3})


def test_commits_and_fetches_are_held_against_the_members_epoch() -> None:
    desk = Desk()
    desk.topic("a", 2)
    desk.join("A", ["a"])
    group = desk.group

    def commit(member_id: str, epoch: int, *, transactional: bool = False) -> ErrorCode:
        return group.check_commit(member_id=member_id, instance_id=None, epoch=epoch, transactional=transactional)

    assert commit("A", 1) is ErrorCode.NONE
    assert commit("A", 0) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("A", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("B", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit("", -1, transactional=True) is ErrorCode.NONE
    assert group.check_fetch(member_id=None, epoch=-1) is ErrorCode.NONE
    assert group.check_fetch(member_id="A", epoch=1) is ErrorCode.NONE
    assert group.check_fetch(member_id="A", epoch=7) is ErrorCode.STALE_MEMBER_EPOCH
    assert group.check_fetch(member_id="B", epoch=1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.check_delete() is ErrorCode.NON_EMPTY_GROUP
    assert group.subscribed_to("a")
    desk.beat("A", epoch=-1)
    assert commit("", -1) is ErrorCode.NONE
    assert group.check_delete() is ErrorCode.NONE
    assert not group.subscribed_to("a")


def test_a_commit_for_a_partition_owned_since_an_earlier_epoch_is_taken() -> None:
    desk = Desk()
    desk.topic("a", 2)
    desk.join("A", ["a"])
    topic_id = desk.image.topics.by_name["a"].topic_id
    desk.topic("a", 3)
    desk.beat("A")

    def commit(partition: int, epoch: int) -> ErrorCode:
        return desk.group.check_partition_commit(member_id="A", epoch=epoch, topic_id=topic_id, partition=partition)

    assert commit(0, 2) is ErrorCode.NONE
    assert commit(0, 1) is ErrorCode.NONE
    assert commit(2, 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(9, 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(0, 3) is ErrorCode.STALE_MEMBER_EPOCH
    desk.reload()
    assert commit(0, 1) is ErrorCode.NONE


def test_a_deleted_group_leaves_nothing_in_the_log() -> None:
    desk = Desk()
    desk.topic("a", 2)
    desk.join("A", ["a"], pattern="a.*")
    tombstones = desk.group.tombstones()
    for record in tombstones:
        assert record.value is None
        desk.machine.replay(record, None, 0)
    assert desk.machine.shard.groups == {}
    written = {record.encode()[0] for record in tombstones}
    keys = {bytes(each.key or b"") for batch in desk.batches for each in open_batch(batch)}
    assert keys == written


def test_a_described_group_shows_current_and_target_assignments() -> None:
    desk = Desk()
    desk.topic("a", 2)
    desk.join("A", ["a"], instance_id="i")
    desk.join("B", ["a"])
    described = desk.machine.consumer.describe("g").answer
    assert not isinstance(described, Promise)
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Reconciling", 2, 2)
    assert described.assignor_name == "uniform"
    first, second = described.members
    assert (first.member_id, first.instance_id, first.member_epoch, first.client_host) == ("A", "i", 1, "/host")
    assert [(each.topic_name, each.partitions) for each in first.assignment.topic_partitions] == [("a", [0, 1])]
    assert [(each.topic_name, each.partitions) for each in first.target_assignment.topic_partitions] == [("a", [0])]
    assert second.assignment.topic_partitions == []
    desk.delete("a")
    described = desk.machine.consumer.describe("g").answer
    assert not isinstance(described, Promise)
    assert described.members[0].assignment.topic_partitions == []
    missing = desk.machine.consumer.describe("nobody").answer
    assert not isinstance(missing, Promise)
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
