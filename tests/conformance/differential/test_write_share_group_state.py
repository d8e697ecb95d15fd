"""WriteShareGroupState."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.wire.messages.write_share_group_state import WriteShareGroupStateRequest, WriteStateData
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_states import ABSENT, PARTITIONS, initialize, read, summary, write

pytestmark = pytest.mark.usefixtures("share_coordinator")


@pytest.mark.parametrize("seed", range(8))
def test_write_share_group_state_merges_batches(scene: Scene, seed: int) -> None:
    """Batches overlap in all ways, within one request and with those before."""
    chance, group = Random(seed), f"merge {seed}"
    scene.same(initialize(group))
    start = 0
    for _ in range(25):
        batches = []
        for _ in range(chance.randrange(6)):
            first = start + chance.randrange(-3, 40)
            batches.append((max(0, first), max(0, first) + chance.randrange(12), chance.choice([0, 2, 4]), chance.randrange(1, 4)))
        moves = chance.random() < 0.3
        start += chance.randrange(8) if moves else 0
        scene.same(write(group, batches, start_offset=start if moves else -1, count=chance.randrange(50)), chance.randrange(2))
        scene.same(read(group))
        scene.same(summary(group))


def test_write_share_group_state_fences_by_state_epoch(scene: Scene) -> None:
    scene.same(initialize("write epochs", state_epoch=5))
    for epoch in (4, 5, 6, -1, 5):
        scene.same(write("write epochs", [(epoch + 1, epoch + 1, 2, 1)], state_epoch=epoch))
        scene.same(read("write epochs"))


def test_write_share_group_state_moves_the_start_offset(scene: Scene) -> None:
    scene.same(initialize("write starts", start_offset=-1))
    for start in (-1, 10, 5, -1, 30, -7):
        scene.same(write("write starts", [(0, 40, 2, 1)], start_offset=start, count=start))
        scene.same(read("write starts"))
        scene.same(summary("write starts"))


def test_write_share_group_state_refuses_what_does_not_exist(scene: Scene) -> None:
    scene.same(write("write absent"))
    scene.same(write("write absent", (), -1))
    scene.same(write("write absent", (), PARTITIONS))
    scene.same(write("write absent", topic=None))


def test_write_share_group_state_snapshots_after_many_updates(scene: Scene) -> None:
    scene.same(initialize("write many", 0, 1))
    for offset in range(520):
        scene.same(write("write many", [(offset, offset, 2, 1)], 0, 1, start_offset=offset // 3, count=1))
    scene.same(read("write many", 0, 1))


def test_write_share_group_state_without_group_topics_or_partitions(scene: Scene) -> None:
    scene.same(write(""))
    scene.same(WriteShareGroupStateRequest(group_id="g", topics=[]))
    scene.same(WriteShareGroupStateRequest(group_id="g", topics=[WriteStateData(topic_id=ABSENT, partitions=[])]))
