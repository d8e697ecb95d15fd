"""Members of classic groups, and the steps in which they join and leave."""

from __future__ import annotations

from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from tests.conformance.differential.group_requests import join, leave, sync
from tests.conformance.differential.scene import Scene

MEMBER_ID_FIRST_VERSION = 4  # of JoinGroup


def joined(scene: Scene, group: str, name: str, **options: Any) -> None:
    """A first member of a group, with its id."""
    if scene.version(JoinGroupRequest) >= MEMBER_ID_FIRST_VERSION and "instance" not in options:
        scene.same(join(group, **options), by=name, learns={name: "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
        scene.same(lambda the: join(group, the[name], **options), by=name, expect=ErrorCode.NONE)
    else:
        scene.same(join(group, **options), by=name, learns={name: "member_id"}, expect=ErrorCode.NONE)


def stable(scene: Scene, group: str, **options: Any) -> None:
    """A group with one member, *a*, in generation 1, which was assigned ``b"all"``."""
    joined(scene, group, "a", **options)
    given = {name: options[name] for name in ("instance", "protocol_type") if name in options}
    scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"all"), **given), by="a", expect=ErrorCode.NONE)


def shown(scene: Scene, group: str, **options: Any) -> Any:
    return scene.same(DescribeGroupsRequest(groups=[group]), **options).groups[0]


def gone(scene: Scene, group: str, *members: str) -> None:
    version = scene.version(LeaveGroupRequest)
    for member in members:
        scene.same(lambda the, member=member: leave(version, group, (the[member], None)))
