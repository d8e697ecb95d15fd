"""For any behaviour of members, logs and clocks: one leader in a generation, one assignment for
each member in it, and no request waits for ever.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.wire.messages.join_group import JoinGroupResponse
from tests.unit.coordinators.classic.play import Play
from tests.unit.coordinators.classic.script import Player

DYNAMIC, STATIC = ("a", "b", "c"), {"i": "i", "i'": "i", "j": "j"}
# Longer than any session, and than any chain of rebalances.
ALL_IS_OVER_MS = 4 * 3_600_000

dynamic = st.sampled_from(DYNAMIC)
static = st.sampled_from(sorted(STATIC))
protocols = st.sampled_from(["range", "range,sticky", "sticky,range"])
lines = st.one_of(
    st.builds(lambda name, p: f"join {name} protocols={p}", dynamic, protocols),
    st.builds(lambda name, p: f"join {name} v=3 protocols={p}", dynamic, protocols),
    st.builds(lambda name: f"join {name} id=", dynamic),
    st.builds(lambda name, p: f"join {name} as={STATIC[name]} protocols={p}", static, protocols),
    st.builds(lambda name, p: f"join {name} as={STATIC[name]} protocols={p} id=", static, protocols),
    st.builds(lambda name: f"sync {name} a=1 b=2 c=3 i=4 i'=5 j=6", st.one_of(dynamic, static)),
    st.builds(lambda name: f"sync {name} as={STATIC[name]} a=7 b=8 c=9 i=10 i'=11 j=12", static),
    st.builds(lambda name: f"heartbeat {name}", st.one_of(dynamic, static)),
    st.builds(lambda name: f"leave {name}", st.one_of(dynamic, static)),
    st.sampled_from(["leave as=i", "leave a b c"]),
    st.builds(lambda ms: f"wait {ms}", st.sampled_from([1, 1_000, 3_000, 6_000, 60_000])),
    st.sampled_from(["lag", "catch up", "catch up", "refuse NOT_ENOUGH_REPLICAS", "accept", "accept", "restart", "commit a"]),
)


class WatchedPlay(Play):
    """A play that compares responses with each other, as long as one coordinator gave them."""

    def __init__(self) -> None:
        super().__init__(GroupSettings(size_max=4))
        for name in (*DYNAMIC, *STATIC):
            self.players.setdefault(name, Player())
        self._leaders: dict[int, str] = {}

    def answered(self, name: str, response: Any) -> None:
        super().answered(name, response)
        if isinstance(response, JoinGroupResponse) and response.members and not response.skip_assignment:
            assert response.leader == response.member_id, "only the leader hears who the others are"
            assert self._leaders.setdefault(response.generation_id, response.leader) == response.leader, "one leader in a generation"

    def _restart(self, names: list[str], options: dict[str, str]) -> None:
        super()._restart(names, options)
        self._leaders.clear()  # Generations that were not written come again.

    def perform(self, line: str) -> None:
        if line.startswith("commit") and (self.group is None or self.desk.log.lagging):
            return
        if line.startswith("restart"):
            self.desk.log.catch_up()
        super().perform(line)
        if self.group is not None:
            check(self.group, lagging=self.desk.log.lagging)


def check(group: ClassicGroup, *, lagging: bool) -> None:
    members = group.members
    assert all(member.member_id == member_id for member_id, member in members.items())
    assert (group.leader in members) if members else group.leader is None
    assert group.joined == sum(member.waiting_join is not None for member in members.values())
    assert group.instances == {member.instance_id: member.member_id for member in members.values() if member.instance_id is not None}
    assert not group.pending & members.keys()
    assert group.not_synced <= members.keys()
    if group.state is not ClassicState.PREPARING_REBALANCE:
        assert group.joined == 0, "who waits for a join waits for a rebalance"
        assert bool(members) is (group.state is not ClassicState.EMPTY)
    if group.state is not ClassicState.COMPLETING_REBALANCE and not lagging:
        assert all(member.waiting_sync is None for member in members.values()), "who waits for a sync waits for the leader"


@settings(max_examples=300, deadline=None)
@given(st.lists(lines, max_size=60))
def test_a_random_play_keeps_the_invariants_of_a_group(script: list[str]) -> None:
    play = WatchedPlay()
    for line in script:
        play.perform(line)
    play.perform("accept")
    play.perform("catch up")
    before = play.group
    play.perform(f"wait {ALL_IS_OVER_MS}")
    assert play.waiting == 0, "everybody is answered"
    if before is not None:
        assert play.group is None or (play.group.state is ClassicState.EMPTY and not play.group.pending)
    # Only the expiry of offsets is left.
    assert len(play.desk.machine.timers) <= 1


@settings(max_examples=150, deadline=None)
@given(st.lists(lines, max_size=60))
def test_a_group_read_from_its_log_equals_the_group_that_wrote_it(script: list[str]) -> None:
    play = WatchedPlay()
    for line in script:
        play.perform(line)
    play.perform("accept")
    play.perform("catch up")
    group = play.group
    # The record of an empty group is not repeated if the log refused it: after a restart the last
    # members are back, and time out again.
    written = (ClassicState.STABLE,) if any("refuse" in line for line in script) else (ClassicState.STABLE, ClassicState.EMPTY)
    before = None
    if group is not None and group.state in written and group.protocol_type:
        before = (group.generation, group.protocol, group.leader, _assignments(group))
    play.perform("restart")
    if before is not None:
        assert play.group is not None
        assert (play.group.generation, play.group.protocol, play.group.leader, _assignments(play.group)) == before


def _assignments(group: ClassicGroup) -> dict[str, bytes]:
    return {member_id: member.assignment for member_id, member in group.members.items()}
