"""OffsetCommit, OffsetFetch and OffsetDelete: of groups with members, of groups without, and of groups that are not there."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.conformance.differential.group_requests import commit, fetch, fetch_group, join, leave, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene

pytestmark = pytest.mark.usefixtures("coordinators")

TOPIC = "offsets-of-groups"
OTHER = "offsets-of-others"
COMMITS = range(2, 11)
FETCHES = range(1, 11)
ALL = (TOPIC, (0, 1, 2))


@pytest.fixture(scope="module", autouse=True)
def topics(pair: Pair, coordinators: None) -> None:
    pair.create(TOPIC, 3)
    pair.create(OTHER, 1)


def committed(scene: Scene, version: int, group: str, topic: str, *offsets: tuple[int, int], **options: Any) -> Any:
    member = options.pop("member", "")

    def made(the: Known) -> OffsetCommitRequest:
        return commit(the, version, group, topic, *offsets, member=the["a"] if member == "a" else member, **options)

    return scene.same(made, version)


def fetched(scene: Scene, group: str, version: int = 9, **options: Any) -> None:
    scene.same(lambda the: fetch(the, version, group, [ALL], **options), version)
    scene.same(lambda the: fetch(the, version, group, None, **options), version)


def member_of(scene: Scene, group: str, *, synced: bool = True) -> None:
    """*a*, in generation 1."""
    scene.same(join(group), by="a", learns={"a": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
    scene.same(lambda the: join(group, the["a"]), by="a", expect=ErrorCode.NONE)
    if synced:
        scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"")), by="a", expect=ErrorCode.NONE)


# -- commits and fetches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", COMMITS)
def test_what_was_committed_is_fetched_in_all_versions(scene: Scene, version: int) -> None:
    group = f"commits-{version}"
    for reading in FETCHES:
        scene.same(lambda the, reading=reading: fetch(the, reading, group, [ALL]), reading)
    committed(scene, version, group, TOPIC, (0, 5), (2, 7))
    committed(scene, version, group, TOPIC, (0, 6), (0, 8), metadata="with words", leader_epoch=3)
    committed(scene, version, group, OTHER, (0, 1), metadata=None)
    for reading in FETCHES:
        for asked in ([ALL], [(TOPIC, (0, 0, 7, -1)), (OTHER, (0,))], [(TOPIC, ())], []):
            scene.same(lambda the, reading=reading, asked=asked: fetch(the, reading, group, asked), reading)
            if reading >= 7:
                scene.same(lambda the, reading=reading, asked=asked: fetch(the, reading, group, asked, stable=True), reading)
        if reading >= 2:
            scene.same(lambda the, reading=reading: fetch(the, reading, group, None), reading)


@pytest.mark.parametrize("version", COMMITS)
def test_partitions_are_committed_one_by_one(scene: Scene, version: int) -> None:
    group = f"commits-one-by-one-{version}"
    committed(scene, version, group, TOPIC, (0, 1), (7, 1), (-1, 1), (1, -5), (2, 2**62))
    committed(scene, version, group, "no-such-topic", (0, 1))
    committed(scene, version, group, TOPIC)
    scene.same(OffsetCommitRequest(group_id=group, member_id="", topics=[]), version)
    if version < 10:
        for name in ("", "a b"):
            committed(scene, version, group, name, (0, 1))
    long = "x" * 4096
    for metadata in (long, long + "x", "ä" * 4096, "ä" * 4097, "", None):
        committed(scene, version, group, TOPIC, (0, 9), metadata=metadata)
        fetched(scene, group)
    fetched(scene, group, 10)


def test_topics_by_ids_that_are_none(scene: Scene) -> None:
    for topic_id in (ZERO_UUID, Uuid(b"nobody knows it.")):
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")]
        topic = OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions)
        scene.same(OffsetCommitRequest(group_id="by-ids", member_id="", topics=[topic]), 10)
        asked = OffsetFetchRequestGroup(group_id="by-ids", topics=[OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 1])])
        scene.same(OffsetFetchRequest(groups=[asked]), 10)


@pytest.mark.parametrize("version", COMMITS)
def test_who_may_commit(scene: Scene, version: int) -> None:
    """A group that is not there, one with a member, one that waits for its assignment, one that is empty."""
    group = f"who-commits-{version}"
    epochs = (-2, -1, 0, 1, 2)
    for epoch in (0, 1, -1, -2):
        for member in ("", "stranger"):
            committed(scene, version, f"{group}-{epoch}-{member}", TOPIC, (0, 1), epoch=epoch, member=member)
    for empty in ("", "stranger"):
        committed(scene, version, "", TOPIC, (0, 1), member=empty)
    member_of(scene, group, synced=False)
    for state in ("completing", "stable", "empty"):
        for member in ("", "stranger", "a"):
            for epoch in epochs:
                committed(scene, version, group, TOPIC, (0, 10 + epoch), epoch=epoch, member=member)
            if version >= 7:
                for instance in ("", "one"):
                    committed(scene, version, group, TOPIC, (0, 1), epoch=1, member=member, instance=instance)
        fetched(scene, group)
        if state == "completing":
            scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"")), by="a", expect=ErrorCode.NONE)
        elif state == "stable":
            scene.same(lambda the: leave(scene.version(LeaveGroupRequest), group, (the["a"], None)))


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_old_client_says_how_long_its_offsets_live(scene: Scene, version: int) -> None:
    for retention_ms in (0, 1, 10**9, -2):
        group = f"retention-{version}-{retention_ms}"
        committed(scene, version, group, TOPIC, (0, 1), retention_ms=retention_ms)
        fetched(scene, group)


@pytest.mark.parametrize("version", FETCHES)
def test_fetches_of_strangers(scene: Scene, version: int) -> None:
    group = f"who-fetches-{version}"
    scene.same(lambda the: fetch(the, version, "", [ALL]), version)
    scene.same(lambda the: fetch(the, version, group, [("no-such-topic", (0, 1)), ALL]), version)
    member_of(scene, group)
    committed(scene, 9, group, TOPIC, (0, 3), epoch=1, member="a")
    scene.same(lambda the: fetch(the, version, group, [ALL]), version)
    if version >= 9:
        for member in (None, "", "stranger"):
            for epoch in (-2, -1, 0, 1, 2):
                scene.same(lambda the, member=member, epoch=epoch: fetch(the, version, group, [ALL], member=member, epoch=epoch), version)
                scene.same(lambda the, member=member, epoch=epoch: fetch(the, version, group, None, member=member, epoch=epoch), version)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_several_groups_in_one_fetch(scene: Scene, version: int) -> None:
    for name in ("x", "y"):
        committed(scene, version, f"several-{version}-{name}", TOPIC, (1, 4))

    def several(the: Known) -> OffsetFetchRequest:
        groups = [
            fetch_group(the, version, f"several-{version}-{name}", asked)
            for name, asked in (("x", [ALL]), ("y", None), ("none", [ALL]), ("none", None), ("x", [(TOPIC, (1,))]))
        ]
        return OffsetFetchRequest(groups=groups)

    scene.same(several, version)
    scene.same(OffsetFetchRequest(groups=[]), version)
    scene.same(lambda the: OffsetFetchRequest(groups=[fetch_group(the, version, "", [ALL])]), version)


# -- deletions ----------------------------------------------------------------------------------------------------------------


def deleting(group: str, *partitions: tuple[str, list[int]]) -> OffsetDeleteRequest:
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes])
        for name, indexes in partitions
    ]
    return OffsetDeleteRequest(group_id=group, topics=topics)


def test_offsets_are_deleted(scene: Scene) -> None:
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


def test_offsets_of_topics_that_are_read_stay(scene: Scene) -> None:
    pair = scene.pair
    pair.create("t", 1)  # what the members of these scripts subscribe to
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


def test_a_group_that_only_has_offsets_is_listed_and_deleted(scene: Scene) -> None:
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
