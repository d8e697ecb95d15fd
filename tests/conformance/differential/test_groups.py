"""Classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what DescribeGroups, ListGroups and DeleteGroups tell of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest
from tests.conformance.differential.group_requests import SUBSCRIPTION, heartbeat, join, leave, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene

MEMBER_ID_FIRST_VERSION = 4  # of JoinGroup
STATIC_AGE = 5  # JoinGroup knows static members since


pytestmark = pytest.mark.usefixtures("coordinators")


def joined(scene: Scene, group: str, name: str, **options: Any) -> None:
    """A first member of a group, with its id."""
    if scene.version(JoinGroupRequest) >= MEMBER_ID_FIRST_VERSION and "instance" not in options:
        scene.same(join(group, **options), by=name, learns={name: "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
        scene.same(lambda the: join(group, the[name], **options), by=name, expect=ErrorCode.NONE)
    else:
        scene.same(join(group, **options), by=name, learns={name: "member_id"}, expect=ErrorCode.NONE)


def joining(scene: Scene, group: str, name: str, **options: Any) -> None:
    """Another one, which waits for the others."""
    if scene.version(JoinGroupRequest) >= MEMBER_ID_FIRST_VERSION and "instance" not in options:
        scene.same(join(group, **options), by=name, learns={name: "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
        scene.begins(name, lambda the: join(group, the[name], **options))
    else:
        scene.begins(name, join(group, **options))


def stable(scene: Scene, group: str, **options: Any) -> None:
    """A group with one member, *a*, in generation 1, which was assigned ``b"all"``."""
    joined(scene, group, "a", **options)
    given = {name: options[name] for name in ("instance", "protocol_type") if name in options}
    scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"all"), **given), by="a", expect=ErrorCode.NONE)


def shown(scene: Scene, group: str, **options: Any) -> Any:
    return scene.same(DescribeGroupsRequest(groups=[group]), **options).groups[0]


def is_in(state: str) -> Callable[[Any], bool]:
    return lambda answer: bool(answer.groups[0].group_state == state)


def gone(scene: Scene, group: str, *members: str) -> None:
    version = scene.version(LeaveGroupRequest)
    for member in members:
        scene.same(lambda the, member=member: leave(version, group, (the[member], None)))


# -- coordinators -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key_type", [0, 1, 2, 3, -1])
def test_whose_coordinator_it_is(pair: Pair, key_type: int) -> None:
    for key in ("g", "", "with spaces and / signs", "x" * 300):
        if key_type == 0:
            pair.same(FindCoordinatorRequest(key=key))
        pair.same(FindCoordinatorRequest(key=key, key_type=key_type))
        pair.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]))
    pair.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b", "a", ""]))
    pair.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[]), range(4, 7))


# -- a life of a group --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("age", range(10))
def test_a_group_comes_rebalances_and_goes(pair: Pair, age: int) -> None:
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


# -- joins --------------------------------------------------------------------------------------------------------------------


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
def test_joins_that_are_refused(pair: Pair, what: str, there: bool) -> None:
    options = dict(WRONG_JOINS[what])
    for age in (0, 3, 4, 5, 7, 9):
        with Scene(pair, age) as scene:
            name = f"wrong-join-{list(WRONG_JOINS).index(what)}-{there}-{age}"
            if there:
                stable(scene, name)
            group = options.get("group", name)
            rest = {key: value for key, value in options.items() if key not in ("group", "member")}
            scene.same(join(group, options.get("member", ""), **rest), by="wrong", learns={"wrong": "member_id"})
            if there:  # a group that nobody came into is seen in Kafka only while no write to its shard is on the way
                shown(scene, name)
                gone(scene, name, "a")


@pytest.mark.parametrize("session_ms", [6_000, 1_800_000])
def test_sessions_at_the_edges(scene: Scene, session_ms: int) -> None:
    stable(scene, f"edge-{session_ms}", session_ms=session_ms)
    gone(scene, f"edge-{session_ms}", "a")


@pytest.mark.parametrize("age", [0, 5, 9])
def test_a_member_that_joins_again(pair: Pair, age: int) -> None:
    """The leader means a rebalance by it; a follower that says the same as before does not."""
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


def test_the_protocol_that_most_want(scene: Scene) -> None:
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


# -- what members say ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("age", [0, 2, 3, 4, 5])
def test_heartbeats_and_syncs_of_strangers_and_zombies(pair: Pair, age: int) -> None:
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


@pytest.mark.parametrize("version", range(6))
def test_leaving(pair: Pair, version: int) -> None:
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


# -- static members -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("age", range(STATIC_AGE, 10))
def test_static_members(pair: Pair, age: int) -> None:
    group = f"static-{age}"
    with Scene(pair, age) as scene:
        stable(scene, group, instance="one")
        shown(scene, group)
        scene.same(join(group, "stranger", instance="one"), expect=ErrorCode.FENCED_INSTANCE_ID)
        scene.same(join(group, "stranger", instance="two"), expect=ErrorCode.UNKNOWN_MEMBER_ID)
        # It comes back without a rebalance, under a new id.
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
        # It may say something new without a rebalance, as long as the protocol stays.
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
        # A twin takes the place while the group agrees: the older one is fenced, and its sync with it.
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
def test_a_static_leader_that_returns_to_a_group_of_two(pair: Pair, age: int) -> None:
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


# -- telling of groups --------------------------------------------------------------------------------------------------------


def test_groups_are_listed_by_state_and_type(scene: Scene) -> None:
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


def test_groups_are_described_and_deleted_one_by_one(pair: Pair) -> None:
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
