"""ReadShareGroupStateSummary."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest, ReadStateSummaryData
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_states import ABSENT, PARTITIONS, initialize, summary, write

pytestmark = pytest.mark.usefixtures("share_coordinator")


@pytest.mark.parametrize("version", [0, 1])
def test_read_share_group_state_summary_needs_no_state_and_no_epoch(scene: Scene, version: int) -> None:
    group = f"summary {version}"
    scene.same(summary(group, 0, 1), version)
    scene.same(initialize(group, state_epoch=3, start_offset=5))
    scene.same(write(group, [(5, 9, 2, 1)], state_epoch=3, start_offset=7, count=3))
    for epoch in (0, -1, 9):
        scene.same(summary(group, 0, 1, leader_epoch=epoch), version)


def test_read_share_group_state_summary_refuses_what_does_not_exist(scene: Scene) -> None:
    scene.same(summary("summary absent", topic=None))
    scene.same(summary("summary absent", -1))
    scene.same(summary("summary absent", PARTITIONS))


def test_read_share_group_state_summary_without_group_topics_or_partitions(scene: Scene) -> None:
    scene.same(summary(""))
    scene.same(ReadShareGroupStateSummaryRequest(group_id="g", topics=[]))
    scene.same(ReadShareGroupStateSummaryRequest(group_id="g", topics=[ReadStateSummaryData(topic_id=ABSENT, partitions=[])]))
