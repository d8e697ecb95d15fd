"""Steps of scripts about streams groups."""

from __future__ import annotations

from typing import Any

from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.wire.messages.streams_group_heartbeat import Topology
from tests.conformance.differential.scene import Scene
from tests.streams_heartbeats import beat, joining


def joins(scene: Scene, group: str, member: str, sent: Topology | None, *, expect: int | None = 0, **options: Any) -> Any:
    return scene.same(joining(group, member, sent, **options), 0, by=member, expect=expect)


def beats(scene: Scene, group: str, member: str, epoch: int, *, expect: int | None = 0, **options: Any) -> Any:
    return scene.same(beat(group, member, epoch, **options), 0, by=member or "nobody", expect=expect)


def shown(scene: Scene, *groups: str) -> Any:
    return scene.same(StreamsGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=False), 0)
