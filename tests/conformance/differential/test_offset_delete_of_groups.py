"""OffsetDelete, and groups that have nothing but offsets."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from tests.conformance.differential.group_offsets import OTHER, TOPIC, committed, fetched, member_of
from tests.conformance.differential.group_requests import commit, join, leave, sync
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("offset_topics")


def deleting(group: str, *partitions: tuple[str, list[int]]) -> OffsetDeleteRequest:
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes])
        for name, indexes in partitions
    ]
    return OffsetDeleteRequest(group_id=group, topics=topics)


def test_offset_delete_of_the_last_offset_leaves_an_empty_group(scene: Scene) -> None:
    group = "deleting-offsets"
    scene.same(deleting(group, (TOPIC, [0])))
    scene.same(deleting("", (TOPIC, [0])))
    committed(scene, 9, group, TOPIC, (0, 5), (1, 5))
    committed(scene, 9, group, OTHER, (0, 5))
    scene.same(deleting(group))
    scene.same(deleting(group, (TOPIC, [])))
    scene.same(deleting(group, (TOPIC, [0, 0, 2, 7, -1]), ("no-such-topic", [0])))
    fetched(scene, group)
    scene.same(deleting(group, (TOPIC, [1]), (OTHER, [0])))
    fetched(scene, group)
    scene.same(DescribeGroupsRequest(groups=[group]))
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    scene.same(DescribeGroupsRequest(groups=[group]))


def test_offset_delete_keeps_offsets_of_subscribed_topics(scene: Scene) -> None:
    pair = scene.pair
    pair.create("t", 1)  # The topic to which the members of these scripts subscribe.
    group = "deleting-read-offsets"
    member_of(scene, group)
    committed(scene, 9, group, "t", (0, 5), epoch=1, member="a")
    committed(scene, 9, group, TOPIC, (0, 5), epoch=1, member="a")
    scene.same(deleting(group, ("t", [0, 1]), (TOPIC, [0, 1])))
    fetched(scene, group)
    scene.same(lambda the: leave(5, group, (the["a"], None)), 5)
    scene.same(deleting(group, ("t", [0])))

    connect = "deleting-of-connect"
    scene.same(join(connect, protocol_type="connect"), by="c", learns={"c": "member_id"})
    scene.same(lambda the: join(connect, the["c"], protocol_type="connect"), by="c")
    scene.same(lambda the: sync(connect, 1, the["c"], (the["c"], b""), protocol_type="connect"), by="c")
    scene.same(lambda the: commit(the, 9, connect, TOPIC, (0, 5), epoch=1, member=the["c"]), 9)
    scene.same(deleting(connect, (TOPIC, [0])))
    scene.same(lambda the: leave(5, connect, (the["c"], None)), 5)
    scene.same(deleting(connect, (TOPIC, [0])))


def test_offset_delete_needs_no_members_and_such_a_group_is_listed_and_deleted(scene: Scene) -> None:
    group = "only-offsets"
    committed(scene, 9, group, TOPIC, (0, 5))

    def this(answer: Any) -> Any:
        answer.groups = [each for each in answer.groups if each.group_id == group]
        return answer

    for version in range(6):
        scene.same(ListGroupsRequest(), version, through=this)
    scene.same(DescribeGroupsRequest(groups=[group]))
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    fetched(scene, group)
    scene.same(ListGroupsRequest(), through=this)
