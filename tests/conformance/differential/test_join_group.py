"""JoinGroup: joins, rebalances and static members, with the SyncGroup, Heartbeat and LeaveGroup
requests of a group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from tests.conformance.differential.classic_groups import MEMBER_ID_FIRST_VERSION, gone, joined, shown, stable
from tests.conformance.differential.group_requests import SUBSCRIPTION, heartbeat, join, leave, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene

pytestmark = pytest.mark.usefixtures("coordinators")


STATIC_AGE = 5  # JoinGroup knows static members since


def joining(scene: Scene, group: str, name: str, **options: Any) -> None:
    """Another member, which waits for the others."""
    if scene.version(JoinGroupRequest) >= MEMBER_ID_FIRST_VERSION and "instance" not in options:
        scene.same(join(group, **options), by=name, learns={name: "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
        scene.begins(name, lambda the: join(group, the[name], **options))
    else:
        scene.begins(name, join(group, **options))


def is_in(state: str) -> Callable[[Any], bool]:
    return lambda answer: bool(answer.groups[0].group_state == state)


@pytest.mark.parametrize("age", range(10))
def test_join_group_forms_a_group_that_rebalances_and_ends(pair: Pair, age: int) -> None:
    group = f"life-{age}"
    with Scene(pair, age) as scene:
        shown(scene, group)
        joined(scene, group, "a")
        shown(scene, group)
        scene.same(lambda the: heartbeat(group, 1, the["a"]), by="a")
        scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"first"), ("stranger", b"nothing")), by="a", expect=ErrorCode.NONE)
        shown(scene, group)
        scene.same(lambda the: heartbeat(group, 1, the["a"]), by="a", expect=ErrorCode.NONE)
        scene.same(lambda the: sync(group, 1, the["a"]), by="a", expect=ErrorCode.NONE)

        joining(scene, group, "b")
        scene.until(DescribeGroupsRequest(groups=[group]), is_in("PreparingRebalance"))
        scene.same(lambda the: heartbeat(group, 1, the["a"]), by="a", expect=ErrorCode.REBALANCE_IN_PROGRESS)
        scene.same(lambda the: sync(group, 1, the["a"]), by="a", expect=ErrorCode.REBALANCE_IN_PROGRESS)
        scene.begins("a", lambda the: join(group, the["a"]))
        scene.ends("b", learns={"b": "member_id"}, expect=ErrorCode.NONE)
        scene.ends("a", expect=ErrorCode.NONE)
        shown(scene, group)

        scene.begins("b", lambda the: sync(group, 2, the["b"]))
        scene.same(lambda the: sync(group, 2, the["a"], (the["a"], b"1"), (the["b"], b"2")), by="a", expect=ErrorCode.NONE)
        scene.ends("b", expect=ErrorCode.NONE)
        shown(scene, group)
        for member in ("a", "b"):
            scene.same(lambda the, member=member: heartbeat(group, 2, the[member]), by=member, expect=ErrorCode.NONE)

        gone(scene, group, "a")
        scene.same(lambda the: heartbeat(group, 2, the["a"]), expect=ErrorCode.UNKNOWN_MEMBER_ID)
        scene.same(lambda the: heartbeat(group, 2, the["b"]), by="b", expect=ErrorCode.REBALANCE_IN_PROGRESS)
        scene.same(lambda the: join(group, the["b"], protocols=[("roundrobin", SUBSCRIPTION)]), by="b", expect=ErrorCode.NONE)
        scene.same(lambda the: sync(group, 3, the["b"], (the["b"], b"everything"), protocol="roundrobin"), by="b", expect=ErrorCode.NONE)
        shown(scene, group)
        scene.same(DeleteGroupsRequest(groups_names=[group]))
        gone(scene, group, "b", "b")
        shown(scene, group)
        scene.same(DeleteGroupsRequest(groups_names=[group, group]))
        shown(scene, group)


WRONG_JOINS: dict[str, dict[str, Any]] = {
    "no group": {"group": ""},
    "no protocol type": {"protocol_type": ""},
    "no protocols": {"protocols": []},
    "nameless protocol": {"protocols": [("", b"")]},
    "another protocol type": {"protocol_type": "connect"},
    "another protocol": {"protocols": [("sticky", b"")]},
    "session too short": {"session_ms": 5_999},
    "session too long": {"session_ms": 1_800_001},
    "no session": {"session_ms": 0},
    "session below nothing": {"session_ms": -1},
    "unknown member": {"member": "stranger"},
}


@pytest.mark.parametrize("what", WRONG_JOINS)
@pytest.mark.parametrize("there", [False, True], ids=["no such group", "stable group"])
def test_join_group_refuses_wrong_requests(pair: Pair, what: str, there: bool) -> None:
    options = dict(WRONG_JOINS[what])
    for age in (0, 3, 4, 5, 7, 9):
        with Scene(pair, age) as scene:
            name = f"wrong-join-{list(WRONG_JOINS).index(what)}-{there}-{age}"
            if there:
                stable(scene, name)
            group = options.get("group", name)
            rest = {key: value for key, value in options.items() if key not in ("group", "member")}
            scene.same(join(group, options.get("member", ""), **rest), by="wrong", learns={"wrong": "member_id"})
            # Kafka shows a group without members only while no write to its shard is in flight.
            if there:
                shown(scene, name)
                gone(scene, name, "a")


@pytest.mark.parametrize("session_ms", [6_000, 1_800_000])
def test_join_group_takes_session_timeouts_up_to_the_limits(scene: Scene, session_ms: int) -> None:
    stable(scene, f"edge-{session_ms}", session_ms=session_ms)
    gone(scene, f"edge-{session_ms}", "a")


@pytest.mark.parametrize("age", [0, 5, 9])
def test_join_group_of_a_member_starts_a_rebalance(pair: Pair, age: int) -> None:
    """A join of the leader starts a rebalance; a join of a follower with the same protocols does
    not."""
    group = f"again-{age}"
    with Scene(pair, age) as scene:
        stable(scene, group)
        scene.same(lambda the: join(group, the["a"]), by="a", expect=ErrorCode.NONE)
        scene.same(lambda the: join(group, the["a"]), by="a", expect=ErrorCode.NONE)
        shown(scene, group)
        scene.same(lambda the: sync(group, 2, the["a"], (the["a"], b"")), by="a")
        scene.same(lambda the: sync(group, 3, the["a"], (the["a"], b"")), by="a")
        joining(scene, group, "b")
        scene.until(DescribeGroupsRequest(groups=[group]), is_in("PreparingRebalance"))
        scene.begins("a", lambda the: join(group, the["a"]))
        scene.ends("b", learns={"b": "member_id"})
        scene.ends("a")
        scene.same(lambda the: join(group, the["b"]), by="b", expect=ErrorCode.NONE)
        scene.same(lambda the: join(group, the["a"]), by="a", expect=ErrorCode.NONE)
        scene.begins("b", lambda the: sync(group, 4, the["b"]))
        scene.same(lambda the: sync(group, 4, the["a"], (the["b"], b"all")), by="a")
        scene.ends("b")
        scene.same(lambda the: join(group, the["b"]), by="b", expect=ErrorCode.NONE)
        shown(scene, group)
        scene.begins("b", lambda the: join(group, the["b"], protocols=[("range", b"other")]))
        scene.until(DescribeGroupsRequest(groups=[group]), is_in("PreparingRebalance"))
        shown(scene, group)
        scene.same(lambda the: join(group, the["a"]), by="a")
        scene.ends("b")
        gone(scene, group, "a", "b")


def test_join_group_chooses_the_protocol_with_most_votes(scene: Scene) -> None:
    wishes = {"a": ["x", "y", "z"], "b": ["y", "z", "x"], "c": ["z", "y", "x"], "d": ["y", "x", "w", "z"]}
    group = "votes"
    for count, name in enumerate(wishes):
        options = {"protocols": [(wish, name.encode()) for wish in wishes[name]], "protocol_type": "connect"}
        if not count:
            joined(scene, group, name, **options)
            continue
        joining(scene, group, name, **options)
        scene.until(DescribeGroupsRequest(groups=[group]), is_in("PreparingRebalance"))
        for earlier in list(wishes)[:count]:
            known = [(wish, earlier.encode()) for wish in wishes[earlier]]
            scene.begins(earlier, lambda the, who=earlier, known=known: join(group, the[who], protocol_type="connect", protocols=known))
        for waiting in list(wishes)[: count + 1]:
            scene.ends(waiting, expect=ErrorCode.NONE)
        shown(scene, group)
    gone(scene, group, *wishes)


@pytest.mark.parametrize("age", range(STATIC_AGE, 10))
def test_join_group_of_a_static_member_replaces_it(pair: Pair, age: int) -> None:
    group = f"static-{age}"
    with Scene(pair, age) as scene:
        stable(scene, group, instance="one")
        shown(scene, group)
        scene.same(join(group, "stranger", instance="one"), expect=ErrorCode.FENCED_INSTANCE_ID)
        scene.same(join(group, "stranger", instance="two"), expect=ErrorCode.UNKNOWN_MEMBER_ID)
        # The member returns without a rebalance, under a new id.
        scene.learn("old", lambda the: the["a"])
        scene.same(join(group, instance="one"), by="a", learns={"a": "member_id"}, expect=ErrorCode.NONE)
        shown(scene, group)
        for ask in (heartbeat, sync):
            scene.same(lambda the, ask=ask: ask(group, 1, the["old"], instance="one"), expect=ErrorCode.FENCED_INSTANCE_ID)
            scene.same(lambda the, ask=ask: ask(group, 1, the["old"]), expect=ErrorCode.UNKNOWN_MEMBER_ID)
            scene.same(lambda the, ask=ask: ask(group, 1, the["a"], instance="two"), expect=ErrorCode.UNKNOWN_MEMBER_ID)
            scene.same(lambda the, ask=ask: ask(group, 1, the["a"], instance=""), expect=ErrorCode.UNKNOWN_MEMBER_ID)
            scene.same(lambda the, ask=ask: ask(group, 1, the["a"], instance="one"), expect=ErrorCode.NONE)
            scene.same(lambda the, ask=ask: ask(group, 1, the["a"]), expect=ErrorCode.NONE)
        # The member may change its metadata without a rebalance, as long as the protocol stays.
        new = [("range", b"new"), ("roundrobin", b"new")]
        scene.same(join(group, instance="one", protocols=new), by="a", learns={"a": "member_id"}, expect=ErrorCode.NONE)
        shown(scene, group)
        scene.same(join(group, instance="one", protocols=new[1:]), by="a", learns={"a": "member_id"}, expect=ErrorCode.NONE)
        shown(scene, group)
        scene.same(
            lambda the: sync(group, 2, the["a"], (the["a"], b"x"), instance="one", protocol="roundrobin"), by="a", expect=ErrorCode.NONE
        )

        joining(scene, group, "b", instance="two")
        scene.until(DescribeGroupsRequest(groups=[group]), is_in("PreparingRebalance"))
        scene.begins("a", lambda the: join(group, the["a"], instance="one"))
        scene.ends("b", learns={"b": "member_id"})
        scene.ends("a")
        # A second member with the same instance id joins during the rebalance: the older one is
        # fenced, and its sync with it.
        scene.begins("b", lambda the: sync(group, 3, the["b"], instance="two"))
        scene.learn("b old", lambda the: the["b"])
        scene.begins("twin", join(group, instance="two"))
        scene.ends("b", expect=ErrorCode.FENCED_INSTANCE_ID)
        scene.begins("a", lambda the: join(group, the["a"], instance="one"))
        scene.ends("twin", learns={"b": "member_id"})
        scene.ends("a")
        shown(scene, group)
        version = scene.version(LeaveGroupRequest)
        scene.same(lambda the: leave(version, group, (the["b old"], "two"), ("", "three"), ("", "two"), (the["a"], "one")))
        shown(scene, group)


@pytest.mark.parametrize("age", range(STATIC_AGE, 10))
def test_join_group_of_a_returning_static_leader_keeps_the_generation(pair: Pair, age: int) -> None:
    group = f"returning-{age}"
    with Scene(pair, age) as scene:
        stable(scene, group, instance="one")
        joining(scene, group, "b", instance="two")
        scene.until(DescribeGroupsRequest(groups=[group]), is_in("PreparingRebalance"))
        scene.begins("a", lambda the: join(group, the["a"], instance="one"))
        scene.ends("b", learns={"b": "member_id"})
        scene.ends("a")
        scene.begins("b", lambda the: sync(group, 2, the["b"], instance="two"))
        scene.same(lambda the: sync(group, 2, the["a"], (the["a"], b"1"), (the["b"], b"2"), instance="one"), by="a")
        scene.ends("b")
        scene.same(join(group, instance="two"), by="b", learns={"b": "member_id"})
        scene.same(join(group, instance="one"), by="a", learns={"a": "member_id"})
        scene.same(lambda the: sync(group, 2, the["a"], (the["a"], b"ignored"), instance="one"), by="a")
        scene.same(lambda the: sync(group, 2, the["b"], instance="two"), by="b")
        shown(scene, group)
        version = scene.version(LeaveGroupRequest)
        scene.same(lambda the: leave(version, group, ("", "one"), ("", "two")))
