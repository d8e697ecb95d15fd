"""ShareGroupHeartbeat (KIP-932): every heartbeat gets the same answer, and so do requests of other
APIs about share groups.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.conformance.differential.group_requests import commit, fetch, heartbeat, join, leave, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.share_groups import FOUR, TWO, beats, create_topics, joins, shown
from tests.conformance.differential.transaction_requests import add_offsets, commit_offsets, init

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.fixture(scope="module", autouse=True)
def topics(pair: Pair, coordinators: None) -> None:
    create_topics(pair)


WRONG: dict[str, dict[str, Any]] = {
    "no group": {"group": ""},
    "a blank group": {"group": " "},
    "no member": {"member": ""},
    "a blank member": {"member": " "},
    "a long member id": {"member": "m" * 37},
    "no rack": {"rack": ""},
    "no topics": {"names": None},
    "an empty list of topics": {"names": []},
    "a topic without a name": {"names": [""]},
    "a topic that is not there": {"names": ["nowhere"]},
    "an epoch below all": {"epoch": -2},
    "a leave": {"epoch": -1},
    "an epoch": {"epoch": 1},
    "a higher epoch": {"epoch": 7},
}


@pytest.mark.parametrize("what", WRONG)
def test_share_group_heartbeat_refuses_wrong_requests(scene: Scene, what: str) -> None:
    given = {"names": [FOUR], **WRONG[what]}
    group = given.pop("group", f"share-refused-{list(WRONG).index(what)}")
    member, epoch = given.pop("member", "a"), given.pop("epoch", 0)
    beats(scene, group, member, epoch, **given)
    if group.strip():
        shown(scene, group)
        joins(scene, group, "there", FOUR)
        beats(scene, group, "there", 0, FOUR)
        beats(scene, group, member, epoch, **given)


def test_share_group_heartbeat_takes_member_ids_of_36_characters(scene: Scene) -> None:
    beats(scene, "long-member", "m" * 36, 0, FOUR, expect=ErrorCode.NONE)


def test_share_group_heartbeat_forms_a_group_that_shares_and_ends(scene: Scene) -> None:
    group = "shares"
    shown(scene, group)
    joins(scene, group, "a", FOUR)
    shown(scene, group)
    beats(scene, group, "a", 2, expect=ErrorCode.NONE)
    shown(scene, group)
    beats(scene, group, "a", 3, expect=ErrorCode.NONE)
    beats(scene, group, "a", 3, FOUR, expect=ErrorCode.NONE)
    beats(scene, group, "a", 2, expect=ErrorCode.NONE)
    beats(scene, group, "a", 2, FOUR, rack="r", expect=ErrorCode.NONE)
    for epoch in (1, 4, 9):
        beats(scene, group, "a", epoch, expect=ErrorCode.FENCED_MEMBER_EPOCH)
    beats(scene, group, "a", 0, FOUR, expect=ErrorCode.NONE)
    shown(scene, group)
    # The subscription grows, shrinks and names a topic that does not exist.
    beats(scene, group, "a", 3, FOUR, "later", expect=ErrorCode.NONE)
    beats(scene, group, "a", 4, FOUR, expect=ErrorCode.NONE)
    beats(scene, group, "stranger", 5, expect=ErrorCode.UNKNOWN_MEMBER_ID)
    beats(scene, group, "stranger", -1, expect=ErrorCode.UNKNOWN_MEMBER_ID)
    beats(scene, "shares-of-nobody", "a", 5, expect=ErrorCode.GROUP_ID_NOT_FOUND)
    beats(scene, "shares-of-nobody", "a", -1, expect=ErrorCode.GROUP_ID_NOT_FOUND)
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    beats(scene, group, "a", -1, expect=ErrorCode.NONE)
    beats(scene, group, "a", -1, expect=ErrorCode.UNKNOWN_MEMBER_ID)
    shown(scene, group)
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    shown(scene, group)
    beats(scene, group, "a", 5, expect=ErrorCode.GROUP_ID_NOT_FOUND)


def test_share_group_heartbeat_gives_a_partition_to_every_member(scene: Scene) -> None:
    """Which partition a member has is a matter of hashes in Kafka; here all have both."""
    group = "shares-all"
    joins(scene, group, "a", TWO)
    beats(scene, group, "a", 2, expect=ErrorCode.NONE)
    counts = []
    for member in ("b", "c", "d"):
        answer = scene.same(lambda the, member=member: _join(the, group, member), by=member, expect=ErrorCode.NONE, through=_counts_only)
        counts.append(answer.assignment.topic_partitions[0].partitions)
    assert counts == [[1], [1], [1]]


def _join(the: Known, group: str, member: str) -> Any:
    the.topic_id(TWO)
    return ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=0, subscribed_topic_names=[TWO])


def _counts_only(answer: Any) -> Any:
    for topic in answer.assignment.topic_partitions:
        topic.partitions = [len(topic.partitions)]
    return answer


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "with members"])
def test_share_group_heartbeat_makes_groups_that_other_protocols_cannot_use(scene: Scene, empty: bool) -> None:
    group = f"only-shares-{empty}"
    joins(scene, group, "a", TWO)
    if empty:
        beats(scene, group, "a", -1)
    scene.same(join(group))
    scene.same(sync(group, 1, "a"))
    scene.same(heartbeat(group, 1, "a"))
    scene.same(leave(5, group, ("a", None)))
    scene.same(DescribeGroupsRequest(groups=[group]))
    scene.same(ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False))
    for epoch in (0, 1, -1):
        scene.same(
            ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id="c",
                member_epoch=epoch,
                rebalance_timeout_ms=1000,
                subscribed_topic_names=[TWO],
                topic_partitions=[],
            )
        )
    for version in (5, 8, 9, 10):
        scene.same(lambda the, version=version: commit(the, version, group, TWO, (0, 1)), version)
        scene.same(lambda the, version=version: commit(the, version, group, TWO, (0, 1), member="a", epoch=2), version)
        scene.same(lambda the, version=version: fetch(the, version, group, [(TWO, [0])]), version)
        scene.same(lambda the, version=version: fetch(the, version, group, None), version)
    scene.same(init(group), learns={"p": "producer_id"}, expect=ErrorCode.NONE)
    scene.same(lambda the: add_offsets(group, the["p"], 0, group), 3)
    for version in (2, 3, 5):
        scene.same(lambda the: commit_offsets(group, the["p"], 0, group, TWO, (0, 1)), version)
    scene.same(lambda the: commit_offsets(group, the["p"], 0, group, TWO, (0, 1), generation=2, member="a"), 4)
    partition = OffsetDeleteRequestPartition(partition_index=0)
    scene.same(OffsetDeleteRequest(group_id=group, topics=[OffsetDeleteRequestTopic(name=TWO, partitions=[partition])]))
    for states, types in (([], ["share"]), (["Stable"], ["share"]), (["Empty"], ["Share"]), (["Dead"], ["share"])):
        scene.same(
            ListGroupsRequest(states_filter=states, types_filter=types),
            through=lambda answer: _only(answer, group),
        )


def _only(answer: Any, group: str) -> Any:
    answer.groups = [each for each in answer.groups if each.group_id == group]
    return answer


def test_share_group_heartbeat_refuses_groups_of_other_protocols(scene: Scene) -> None:
    group = "not-shared"
    scene.same(lambda the: commit(the, 9, group, TWO, (0, 1)), 9)
    for epoch in (0, 1, -1):
        beats(scene, group, "a", epoch, TWO, expect=ErrorCode.GROUP_ID_NOT_FOUND)
    shown(scene, group, "no-such-group", "")
