"""OffsetCommit of members and of strangers."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.conformance.differential.group_offsets import COMMITS, TOPIC, committed, fetched, member_of
from tests.conformance.differential.group_requests import leave, sync
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("offset_topics")


@pytest.mark.parametrize("version", COMMITS)
def test_offset_commit_judges_partitions_one_by_one(scene: Scene, version: int) -> None:
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


def test_offset_commit_and_fetch_refuse_unknown_topic_ids(scene: Scene) -> None:
    for topic_id in (ZERO_UUID, Uuid(b"nobody knows it.")):
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")]
        topic = OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions)
        scene.same(OffsetCommitRequest(group_id="by-ids", member_id="", topics=[topic]), 10)
        asked = OffsetFetchRequestGroup(group_id="by-ids", topics=[OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 1])])
        scene.same(OffsetFetchRequest(groups=[asked]), 10)


@pytest.mark.parametrize("version", COMMITS)
def test_offset_commit_is_refused_to_strangers_and_old_generations(scene: Scene, version: int) -> None:
    """A missing group, one with a member, one that waits for its assignment, and an empty one."""
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
def test_offset_commit_of_an_old_client_sets_the_retention_time(scene: Scene, version: int) -> None:
    for retention_ms in (0, 1, 10**9, -2):
        group = f"retention-{version}-{retention_ms}"
        committed(scene, version, group, TOPIC, (0, 1), retention_ms=retention_ms)
        fetched(scene, group)
