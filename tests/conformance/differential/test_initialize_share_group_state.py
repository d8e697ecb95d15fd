"""InitializeShareGroupState."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.initialize_share_group_state import InitializeShareGroupStateRequest, InitializeStateData
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_states import ABSENT, PARTITIONS, initialize, read, summary, write

pytestmark = pytest.mark.usefixtures("share_coordinator")


@pytest.mark.parametrize("start_offset", [-1, 0, 17, -5])
def test_initialize_share_group_state_sets_start_and_epoch(scene: Scene, start_offset: int) -> None:
    group = f"initialize from {start_offset}"
    scene.same(initialize(group, 0, 1, start_offset=start_offset, state_epoch=4))
    scene.same(read(group, 0, 1))
    for version in (0, 1):
        scene.same(summary(group, 0, 1, 2), version)


def test_initialize_share_group_state_again_discards_the_batches(scene: Scene) -> None:
    scene.same(initialize("initialize again", state_epoch=2))
    scene.same(read("initialize again", leader_epoch=5))
    scene.same(write("initialize again", [(0, 9, 2, 1)], state_epoch=2, leader_epoch=5, count=10))
    for epoch in (1, 0, -1, 2, 3, 1):
        scene.same(initialize("initialize again", state_epoch=epoch, start_offset=20 + epoch))
        scene.same(summary("initialize again"))
        scene.same(read("initialize again", leader_epoch=5))
        scene.same(read("initialize again", leader_epoch=4))


def test_initialize_share_group_state_refuses_what_does_not_exist(scene: Scene) -> None:
    scene.same(initialize("initialize absent", topic=None))
    scene.same(initialize("initialize absent", PARTITIONS))
    scene.same(initialize("initialize absent", -1))
    scene.same(initialize("initialize absent", -1, topic=None))


def test_initialize_share_group_state_without_group_topics_or_partitions(scene: Scene) -> None:
    scene.same(initialize(""))
    scene.same(InitializeShareGroupStateRequest(group_id="g", topics=[]))
    scene.same(InitializeShareGroupStateRequest(group_id="g", topics=[InitializeStateData(topic_id=ABSENT, partitions=[])]))


def test_initialize_share_group_state_of_a_repeated_partition_answers_once(scene: Scene) -> None:
    scene.same(initialize("initialize twice", 0, 0))
    scene.same(summary("initialize twice"))
