"""ShareGroupDescribe: several groups in one request, and authorized operations."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_groups import FOUR, TWO, beats, create_topics, joins, shown

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.fixture(scope="module", autouse=True)
def topics(pair: Pair, coordinators: None) -> None:
    create_topics(pair)


def test_share_group_describe_shows_members_epochs_and_assignments(scene: Scene) -> None:
    joins(scene, "described-1", "a", FOUR, TWO)
    beats(scene, "described-1", "a", 2)
    joins(scene, "described-2", "b", TWO, "nowhere")
    shown(scene, "described-1", "described-2", "described-3", "")
    shown(scene, "described-2", "described-2")
    shown(scene)
    scene.same(ShareGroupDescribeRequest(group_ids=["described-1", "described-3"], include_authorized_operations=True))
    for member, group in (("a", "described-1"), ("b", "described-2")):
        beats(scene, group, member, -1)
    shown(scene, "described-1", "described-2")
