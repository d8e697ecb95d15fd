"""SyncGroup and Heartbeat of members that may not send them. Members that may are in
``test_join_group``.
"""

from __future__ import annotations

import pytest

from barnabas.wire.messages.sync_group import SyncGroupRequest
from tests.conformance.differential.classic_groups import gone, joined, shown
from tests.conformance.differential.group_requests import heartbeat, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("age", [0, 2, 3, 4, 5])
def test_sync_group_and_heartbeat_of_strangers_and_zombies_are_refused(pair: Pair, age: int) -> None:
    group = f"zombies-{age}"
    with Scene(pair, age) as scene:
        for generation in (-1, 0, 1):
            for member in ("", "stranger"):
                scene.same(heartbeat(group, generation, member))
                scene.same(heartbeat("", generation, member))
                scene.same(sync(group, generation, member))
                scene.same(sync("", generation, member))
        joined(scene, group, "a")
        for _ in range(2):
            for generation in (-2, -1, 0, 2, 2**31 - 1):
                scene.same(lambda the, generation=generation: heartbeat(group, generation, the["a"]))
                scene.same(lambda the, generation=generation: sync(group, generation, the["a"]))
            for member in ("", "stranger"):
                scene.same(heartbeat(group, 1, member))
                scene.same(sync(group, 1, member))
            if scene.version(SyncGroupRequest) >= 5:
                for protocol_type, protocol in (("consumer", "range"), ("connect", "range"), ("consumer", "sticky"), ("", ""), (None, "")):
                    scene.same(
                        lambda the, protocol_type=protocol_type, protocol=protocol: sync(
                            group, 1, the["a"], (the["a"], b"x"), protocol_type=protocol_type, protocol=protocol
                        )
                    )
            scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"x")))
        shown(scene, group)
        gone(scene, group, "a")
        scene.same(lambda the: heartbeat(group, 1, the["a"]))
        scene.same(lambda the: heartbeat(group, 2, the["a"]))
        scene.same(lambda the: sync(group, 1, the["a"]))
