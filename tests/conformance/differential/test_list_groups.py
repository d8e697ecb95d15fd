"""ListGroups."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.messages.list_groups import ListGroupsRequest
from tests.conformance.differential.classic_groups import gone, joined, stable
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("coordinators")


def test_list_groups_filters_by_state_and_type(scene: Scene) -> None:
    def ours(answer: Any) -> Any:
        answer.groups = [each for each in answer.groups if each.group_id.startswith("listed-")]
        return answer

    joined(scene, "listed-completing", "a")
    stable(scene, "listed-empty")
    gone(scene, "listed-empty", "a")
    stable(scene, "listed-stable", protocol_type="connect")
    states = [["Stable"], ["stable"], ["Empty", "CompletingRebalance"], ["Dead"], ["nonsense"], [""], ["PreparingRebalance"], ["STABLE"]]
    types = [["classic"], ["CLASSIC"], ["consumer"], ["share"], ["Classic", "consumer"], ["nonsense"], [""]]
    for version in range(6):
        scene.same(ListGroupsRequest(), version, through=ours)
    for wanted in states:
        for version in (4, 5):
            scene.same(ListGroupsRequest(states_filter=wanted), version, through=ours)
    for kinds in types:
        scene.same(ListGroupsRequest(types_filter=kinds), 5, through=ours)
        scene.same(ListGroupsRequest(types_filter=kinds, states_filter=["Stable"]), 5, through=ours)
