"""DescribeGroups and DeleteGroups."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from tests.conformance.differential.classic_groups import gone, stable
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("coordinators")


def test_describe_groups_and_delete_groups_judge_groups_one_by_one(pair: Pair) -> None:
    with Scene(pair) as scene:
        stable(scene, "one-by-one-stable")
        stable(scene, "one-by-one-empty", protocol_type="connect")
        gone(scene, "one-by-one-empty", "a")
        names = ["one-by-one-stable", "one-by-one-empty", "one-by-one-none", "", "one-by-one-empty"]
        for version in range(7):
            scene.same(DescribeGroupsRequest(groups=names), version)
            scene.same(DescribeGroupsRequest(groups=[]), version)
            if version >= 3:
                scene.same(DescribeGroupsRequest(groups=names, include_authorized_operations=True), version)
        for version in range(3):
            scene.same(DeleteGroupsRequest(groups_names=names), version)
            scene.same(DeleteGroupsRequest(groups_names=[]), version)
