"""Members join, leave, crash and are replaced; partitions follow them, and no record is missed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.groups.at_once import for_each_of
from tests.conformance.groups.conftest import Join, MakeTopic, MemberProcess, configure_group, fill, numbered
from tests.conformance.groups.members import (
    ALL_MEMBERS,
    CLASSIC_MEMBERS,
    KafkaPythonMember,
    LibrdkafkaMember,
    Member,
    NewProtocolMember,
    Partition,
    share_out,
)
from tests.waiting import until

EVERY_MEMBER = for_each_of(ALL_MEMBERS)
SHORT_SESSION_MS = 2000


@EVERY_MEMBER
def test_members_join_and_leave(kind: type[Member], join: Join, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(4)
    first = join(kind, group, [topic])
    share_out([first], 4)
    second = join(kind, group, [topic])
    share_out([first, second], 4)
    third, fourth = join(kind, group, [topic]), join(kind, group, [topic])
    share_out([first, second, third, fourth], 4)
    first.leave()
    third.leave()
    share_out([second, fourth], 4)
    fourth.leave()
    share_out([second], 4)


@EVERY_MEMBER
def test_a_killed_member_is_replaced_when_its_session_ends(
    kind: type[Member],
    join: Join,
    join_apart: Callable[..., MemberProcess],
    make_topic: MakeTopic,
    bootstrap: str,
    group: str,
) -> None:
    topic = make_topic(2)
    configure_group(bootstrap, group, {"consumer.session.timeout.ms": str(SHORT_SESSION_MS)})
    survivor = join(kind, group, [topic])
    share_out([survivor], 2)
    victim = join_apart(kind, group, topic, session_ms=SHORT_SESSION_MS)
    until(
        lambda: len(victim.partitions) == len(survivor.partitions) == 1,
        "each member has a partition",
        seen=lambda: (victim.partitions, survivor.events),
    )
    (orphan,) = victim.partitions
    victim.kill()
    fill(bootstrap, topic, numbered(0, 10), orphan)
    share_out([survivor], 2)
    # A survivor that is starved for its own session reads again what it had not committed.
    until(lambda: set(survivor.values) == set(numbered(0, 10)), "the survivor reads everything", seen=lambda: survivor.values)


@EVERY_MEMBER
def test_a_rolling_restart_of_all_members_misses_and_repeats_nothing(
    kind: type[Member], join: Join, make_topic: MakeTopic, bootstrap: str, group: str
) -> None:
    topic = make_topic(3)
    everybody = [join(kind, group, [topic]) for _ in range(3)]
    working = list(everybody)
    share_out(working, 3)
    for round_number in range(3):
        fill(bootstrap, topic, numbered(round_number * 20, round_number * 20 + 10), round_number)
        working.pop(0).leave()
        fill(bootstrap, topic, numbered(round_number * 20 + 10, round_number * 20 + 20), round_number)
        working.append(join(kind, group, [topic]))
        everybody.append(working[-1])
        share_out(working, 3)

    def received() -> list[int]:
        return sorted(int(value) for member in everybody for value in member.values)

    until(lambda: len(received()) >= 60, "60 records are read", seen=lambda: received())
    assert received() == list(range(60))


@EVERY_MEMBER
def test_spare_members_idle_and_take_over(kind: type[Member], join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    members = [join(kind, group, [topic]) for _ in range(3)]
    share_out(members, 1)
    handed_over = 0
    while members:
        (worker,) = (member for member in members if member.owned)
        fill(bootstrap, topic, [b"%d" % handed_over])
        last = b"%d" % handed_over
        until(lambda worker=worker, last=last: last in worker.values, "the last record is read", seen=lambda worker=worker: worker.received)  # type: ignore[misc]
        assert all(member.values == [] for member in members if member is not worker)
        members.remove(worker)
        worker.leave()
        handed_over += 1
        if members:
            share_out(members, 1)
            (worker,) = (member for member in members if member.owned)
    assert handed_over == 3


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky"])
@for_each_of(CLASSIC_MEMBERS)
def test_eager_members_revoke_everything_before_they_share_again(
    kind: type[Member], strategy: str, join: Join, make_topic: MakeTopic, group: str
) -> None:
    if strategy == "sticky" and kind is LibrdkafkaMember:
        return  # librdkafka has no eager sticky assignor.
    topic = make_topic(4)
    first = join(kind, group, [topic], strategy=strategy)
    share_out([first], 4)
    second = join(kind, group, [topic], strategy=strategy)
    share_out([first, second], 4)
    everything = frozenset((topic, partition) for partition in range(4))
    told = [(kind, partitions) for kind, partitions in first.events if partitions]
    assert told[:2] == [("assigned", everything), ("revoked", everything)]
    # The number of rebalances is not fixed: a client that joins twice causes one more.
    held: frozenset[Partition] = frozenset()
    for what, partitions in told:
        assert held == (frozenset() if what == "assigned" else partitions), told
        held = partitions if what == "assigned" else frozenset()
    assert held == first.owned


@for_each_of([LibrdkafkaMember, KafkaPythonMember, NewProtocolMember])
def test_cooperative_members_revoke_only_partitions_that_others_get(
    kind: type[Member], join: Join, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(6)
    first = join(kind, group, [topic], strategy="cooperative-sticky")
    share_out([first], 6)
    second = join(kind, group, [topic], strategy="cooperative-sticky")
    share_out([first, second], 6)
    third = join(kind, group, [topic], strategy="cooperative-sticky")
    share_out([first, second, third], 6)
    kept = first.owned
    lost = [each.partitions for each in first.events if each.kind != "assigned" and each.partitions]
    # Three partitions went to the second member, one to the third, and none ever came back.
    assert [len(each) for each in lost] == [3, 1]
    assert [len(each.partitions) for each in first.events if each.kind == "assigned" and each.partitions] == [6]
    third.leave()
    share_out([first, second], 6)
    second.leave()
    share_out([first], 6)
    # The member held these partitions throughout.
    assert kept <= first.owned
    assert all(not each.partitions & kept for each in first.events if each.kind != "assigned")


def test_different_clients_share_one_group(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(3)
    members = [join(kind, group, [topic], strategy="range") for kind in CLASSIC_MEMBERS]
    share_out(members, 3)
    for partition in range(3):
        fill(bootstrap, topic, numbered(partition * 10, partition * 10 + 10), partition)
    until(
        lambda: all(len(member.values) == 10 for member in members),
        "every member reads its ten records",
        seen=lambda: [member.values for member in members],
    )
    members[0].leave()
    share_out(members[1:], 3)
