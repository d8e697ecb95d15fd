"""LeaveGroup."""

from __future__ import annotations

import pytest

from tests.conformance.differential.classic_groups import shown, stable
from tests.conformance.differential.group_requests import leave
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("version", range(6))
def test_leave_group_removes_members_and_refuses_strangers(pair: Pair, version: int) -> None:
    group = f"leaving-{version}"
    with Scene(pair) as scene:

        def leaves(group: str, *members: tuple[str, str | None]) -> None:
            scene.same(
                lambda the: leave(version, group, *((the["a"] if who == "a" else who, instance) for who, instance in members)), version
            )

        for who in ("", "stranger"):
            leaves(group, (who, None))
            leaves("", (who, None))
        stable(scene, group)
        for who in ("", "stranger"):
            leaves(group, (who, None))
        if version >= 3:
            leaves(group)
            leaves(group, ("a", "no such instance"))
            leaves(group, ("", "no such instance"))
            leaves(group, ("stranger", None), ("a", None), ("a", None), ("", None))
            shown(scene, group)
        else:
            leaves(group, ("a", None))
        leaves(group, ("a", None))
