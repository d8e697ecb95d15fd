"""StreamsGroupDescribe of groups that are not streams groups.

``test_streams_group_heartbeat`` describes its groups after every step.
"""

from __future__ import annotations

import pytest

from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from tests.conformance.differential.classic_groups import stable
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.streams_requests import joins
from tests.streams_heartbeats import subtopology, topology

pytestmark = pytest.mark.usefixtures("coordinators")


def test_streams_group_describe_refuses_missing_and_classic_groups(scene: Scene) -> None:
    stable(scene, "not-a-streams-group")
    for groups in ([], ["streams-nowhere"], ["streams-nowhere", "not-a-streams-group", "streams-nowhere"], ["not-a-streams-group", ""]):
        scene.same(StreamsGroupDescribeRequest(group_ids=groups, include_authorized_operations=False), 0)


def test_streams_group_describe_lists_the_operations_of_the_caller(scene: Scene) -> None:
    joins(scene, "described-streams", "a", topology(subtopology("0", "described-streams-nowhere")))
    scene.same(StreamsGroupDescribeRequest(group_ids=["described-streams"], include_authorized_operations=True), 0)
