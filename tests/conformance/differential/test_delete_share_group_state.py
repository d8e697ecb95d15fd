"""DeleteShareGroupState."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.delete_share_group_state import DeleteShareGroupStateRequest, DeleteStateData
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_states import ABSENT, PARTITIONS, delete, initialize, read, summary, write

pytestmark = pytest.mark.usefixtures("share_coordinator")


def test_delete_share_group_state_deletes_epochs_too(scene: Scene) -> None:
    scene.same(delete("delete"))
    scene.same(initialize("delete", 0, 1, state_epoch=5))
    scene.same(read("delete", 0, 1, leader_epoch=9))
    scene.same(delete("delete", 0))
    scene.same(read("delete", 0, 1, leader_epoch=9))
    scene.same(write("delete", [], 0, 1, state_epoch=5, leader_epoch=9))
    scene.same(summary("delete", 0, 1))
    scene.same(initialize("delete", 0, 1, state_epoch=1))
    scene.same(read("delete", 0, 1, leader_epoch=2))


def test_delete_share_group_state_refuses_what_does_not_exist(scene: Scene) -> None:
    scene.same(delete("delete absent", topic=None))
    scene.same(delete("delete absent", -1))
    scene.same(delete("delete absent", PARTITIONS))


def test_delete_share_group_state_without_group_topics_or_partitions(scene: Scene) -> None:
    scene.same(delete(""))
    scene.same(DeleteShareGroupStateRequest(group_id="g", topics=[]))
    scene.same(DeleteShareGroupStateRequest(group_id="g", topics=[DeleteStateData(topic_id=ABSENT, partitions=[])]))
