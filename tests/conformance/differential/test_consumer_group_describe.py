"""ConsumerGroupDescribe of groups that are not of the new protocol.

``test_consumer_group_heartbeat`` describes its groups after every step.
"""

from __future__ import annotations

import pytest

from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.conformance.differential.classic_groups import stable
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("version", [0, 1])
def test_consumer_group_describe_refuses_missing_and_classic_groups(scene: Scene, version: int) -> None:
    group = f"described-classic-{version}"
    stable(scene, group)
    for groups in ([], ["described-nowhere"], ["described-nowhere", group, "described-nowhere"], [group, ""]):
        scene.same(ConsumerGroupDescribeRequest(group_ids=groups, include_authorized_operations=False), version)
