"""ReadShareGroupState."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.read_share_group_state import ReadShareGroupStateRequest, ReadStateData
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_states import ABSENT, PARTITIONS, initialize, read, summary, write

pytestmark = pytest.mark.usefixtures("share_coordinator")


def test_read_share_group_state_fences_earlier_leaders(scene: Scene) -> None:
    scene.same(initialize("read epochs"))
    for epoch in (0, -1, 3, 3, 2, 7, 0):
        scene.same(read("read epochs", leader_epoch=epoch))
        scene.same(summary("read epochs"))
    for epoch in (6, 7, 8, -1):
        scene.same(write("read epochs", [(0, 9, 2, 1)], leader_epoch=epoch))
        scene.same(summary("read epochs"))


def test_read_share_group_state_refuses_what_does_not_exist(scene: Scene) -> None:
    scene.same(read("read absent"))
    scene.same(read("read absent", topic=None))
    scene.same(read("read absent", -1))
    scene.same(read("read absent", PARTITIONS))


def test_read_share_group_state_answers_each_partition(scene: Scene) -> None:
    scene.same(initialize("read some", 0, 2))
    scene.same(read("read some", 0, 1, 2))
    scene.same(read("read some", 0, 0))


def test_read_share_group_state_without_group_topics_or_partitions(scene: Scene) -> None:
    scene.same(read(""))
    scene.same(ReadShareGroupStateRequest(group_id="g", topics=[]))
    scene.same(ReadShareGroupStateRequest(group_id="g", topics=[ReadStateData(topic_id=ABSENT, partitions=[])]))
