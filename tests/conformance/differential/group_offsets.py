"""Offsets of groups that have members, and the topics of these offsets."""

from __future__ import annotations

from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from tests.conformance.differential.group_requests import commit, fetch, join, sync
from tests.conformance.differential.scene import Known, Scene

TOPIC = "offsets-of-groups"
OTHER = "offsets-of-others"
COMMITS = range(2, 11)
ALL = (TOPIC, (0, 1, 2))


def committed(scene: Scene, version: int, group: str, topic: str, *offsets: tuple[int, int], **options: Any) -> Any:
    member = options.pop("member", "")

    def made(the: Known) -> OffsetCommitRequest:
        return commit(the, version, group, topic, *offsets, member=the["a"] if member == "a" else member, **options)

    return scene.same(made, version)


def fetched(scene: Scene, group: str, version: int = 9, **options: Any) -> None:
    scene.same(lambda the: fetch(the, version, group, [ALL], **options), version)
    scene.same(lambda the: fetch(the, version, group, None, **options), version)


def member_of(scene: Scene, group: str, *, synced: bool = True) -> None:
    """*a*, in generation 1."""
    scene.same(join(group), by="a", learns={"a": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
    scene.same(lambda the: join(group, the["a"]), by="a", expect=ErrorCode.NONE)
    if synced:
        scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"")), by="a", expect=ErrorCode.NONE)
