"""Requests that share groups refuse, groups of other kinds, and the end of groups."""

from __future__ import annotations

import pytest

from barnabas.coordinators.group.bounded_setting import BoundedSetting
from barnabas.coordinators.group.consumer.visible_topics import VisibleTopics
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.group.share.admission import check_request
from barnabas.coordinators.group.share.effects import InitializeStates
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.share_offsets import Deletion
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.coordinators.share_groups.desk import GROUP, SHARD, ShareDesk, without_assignment_interval


@pytest.fixture
def desk() -> ShareDesk:
    return ShareDesk()


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (ShareGroupHeartbeatRequest(group_id="g", member_id="", member_epoch=0), "MemberId can't be empty."),
        (ShareGroupHeartbeatRequest(group_id="", member_id="m", member_epoch=0), "GroupId can't be empty."),
        (ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, rack_id=""), "RackId can't be empty."),
        (
            ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=[]),
            "SubscribedTopicNames must be set in first request.",
        ),
        (ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=-2), "MemberEpoch is invalid."),
    ],
)
def test_an_invalid_heartbeat_is_refused_with_a_reason(request_: ShareGroupHeartbeatRequest, problem: str) -> None:
    refusal = check_request(request_)
    assert refusal is not None
    assert (refusal.code, refusal.message) == (ErrorCode.INVALID_REQUEST, problem)


def test_a_full_group_refuses_new_members_and_serves_its_own() -> None:
    desk = ShareDesk(GroupSettings(share=without_assignment_interval(size_max=1)))
    desk.topic("a", 1)
    desk.perform("A joins a")
    desk.perform("B joins a")
    assert desk.lines[-1] == "  GROUP_MAX_SIZE_REACHED"
    desk.perform("A joins a")
    assert desk.epochs["A"] == 3


def test_targets_are_an_assignment_interval_apart() -> None:
    desk = ShareDesk(GroupSettings())
    desk.topic("a", 1)
    desk.perform("A joins a")
    desk.perform("A beats")
    assert (desk.share_group.epoch, desk.share_group.target_epoch) == (3, 2)
    desk.wait(1_000)
    desk.perform("A beats")
    assert desk.share_group.target_epoch == 3


def test_a_group_has_its_own_timings_within_the_bounds_of_the_broker() -> None:
    setting = BoundedSetting("share.session.timeout.ms", 45_000, 45_000, 60_000)
    assert [setting.of({}), setting.of({setting.name: "50000"})] == [45_000, 50_000]
    assert [setting.of({setting.name: "1"}), setting.of({setting.name: "100000"})] == [45_000, 60_000]


def test_the_response_carries_the_heartbeat_interval_of_the_group(desk: ShareDesk) -> None:
    desk.own_settings["share.heartbeat.interval.ms"] = "7000"
    response = desk.beat_share("A", 0, ["a"])
    assert not isinstance(response, ErrorCode)
    assert response.heartbeat_interval_ms == 7_000


def test_a_consumer_cannot_join_a_share_group_even_an_empty_one(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.perform("A joins a")
    desk.perform("A leaves")
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id="C", member_epoch=0, rebalance_timeout_ms=1000, subscribed_topic_names=["a"], topic_partitions=[]
    )
    visible = VisibleTopics({"a"}, 0)
    answer = desk.runtime.run(
        SHARD,
        desk.now_ms,
        lambda machine: machine.consumer.heartbeat(request, version=1, client_id="", client_host="", visible=visible, now_ms=desk.now_ms),
    ).value
    assert not isinstance(answer, ErrorCode)
    assert (answer.error_code, answer.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")


def test_a_share_member_cannot_join_a_group_of_another_kind(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.join("C", ["a"])
    for epoch in (0, 1, -1):
        response = desk.beat_share("A", epoch, ["a"])
        assert not isinstance(response, ErrorCode)
        assert (response.error_code, response.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a share group.")
    assert desk.describe().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert desk.machine.share.offsets.begin_deleting_group(GROUP).answer == Deletion(())
    desk.perform("offsets of a become 1")
    assert desk.lines[-1] == "  GROUP_ID_NOT_FOUND"


def test_a_share_group_has_no_committed_offsets(desk: ShareDesk) -> None:
    group = ShareGroup(GROUP)
    assert group.check_commit(member_id="", instance_id=None, epoch=-1, transactional=False) == ErrorCode.GROUP_ID_NOT_FOUND
    assert group.check_fetch(member_id=None, epoch=-1) == ErrorCode.GROUP_ID_NOT_FOUND
    desk.topic("a", 1)
    desk.perform("offsets of a become 1")
    assert desk.machine.offsets.delete(OffsetDeleteRequest(group_id=GROUP, topics=[])).answer == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_empty_share_group_does_not_expire(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.perform("A joins a")
    desk.perform("A leaves")
    desk.wait(20 * 24 * 3_600_000)
    assert desk.share_group.state_name == "Empty"


def test_a_deleted_group_leaves_no_state_and_no_records_behind(desk: ShareDesk) -> None:
    desk.topic("a", 2)
    desk.perform("A joins a")
    assert desk.states.delete_group(GROUP).value == ErrorCode.NON_EMPTY_GROUP
    desk.perform("A leaves")
    assert desk.states.delete_group(GROUP).value == ErrorCode.NONE
    assert desk.persister.states == {}
    desk.runtime.run(SHARD, desk.now_ms, lambda _: Outcome(None, desk.share_group.tombstones()))
    assert GROUP not in desk.machine.shard.groups
    desk.reload()
    assert GROUP not in desk.machine.shard.groups


def test_a_group_whose_state_cannot_be_deleted_has_the_error(desk: ShareDesk) -> None:
    desk.topic("a", 2)
    desk.perform("offsets of a become 5,7")
    desk.perform("the share coordinator refuses 1 NOT_COORDINATOR")
    assert desk.states.delete_group(GROUP).value == ErrorCode.NOT_COORDINATOR
    assert list(desk.share_group.states.deleting.values()) == ["a"]


def test_a_deleted_topic_disappears_from_the_states(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.topic("b", 1)
    desk.perform("A joins a,b")
    topic_id = desk.image.topics.by_name["b"].topic_id
    desk.delete("b")
    desk.runtime.run(SHARD, desk.now_ms, lambda machine: machine.share.forget_topic(topic_id))
    assert [topic.name for topic in desk.share_group.states.initialized.values()] == ["a"]
    desk.runtime.run(SHARD, desk.now_ms, lambda machine: machine.share.initialized(InitializeStates(GROUP, 0, 1, {(topic_id, 0): -1}), ()))
    assert [topic.name for topic in desk.share_group.states.initialized.values()] == ["a"]


def test_the_state_epoch_is_the_group_epoch(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.perform("A joins a")
    desk.topic("a", 2)
    desk.perform("A beats")
    assert [(key.partition, state_epoch, start) for key, state_epoch, start in desk.persister.initializations] == [(0, 2, -1), (1, 3, -1)]


def test_summaries_come_from_the_share_coordinator(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.perform("offsets of a become 5")
    topic_id = desk.image.topics.by_name["a"].topic_id
    assert desk.machine.share.initialized_partitions(GROUP).answer == [(topic_id, 0)]
    summary = desk.states.summaries(GROUP, [(topic_id, 0)]).value[topic_id, 0]
    assert not isinstance(summary, ErrorCode)
    assert summary.start_offset == 5
    assert desk.machine.share.initialized_partitions("no such group").answer == []


def test_a_description_leaves_out_deleted_topics(desk: ShareDesk) -> None:
    desk.topic("a", 1)
    desk.topic("b", 1)
    desk.perform("A joins a,b")
    desk.perform("A beats")
    desk.delete("b")
    described = desk.describe()
    assert (described.group_state, described.group_epoch, described.assignor_name) == ("Stable", 3, "simple")
    (member,) = described.members
    assert [topic.topic_name for topic in member.assignment.topic_partitions] == ["a"]
    assert member.subscribed_topic_names == ["a", "b"]
