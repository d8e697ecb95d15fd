"""Static members (``group.instance.id``): they return without a rebalance, and only one member of
each name is accepted.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka import KafkaAdminClient
from kafka.admin import MemberToRemove

from tests.conformance.groups.at_once import for_each_of
from tests.conformance.groups.conftest import Join, MakeTopic, MemberProcess, configure_group, fill, numbered
from tests.conformance.groups.members import (
    ALL_MEMBERS,
    KafkaPythonMember,
    LibrdkafkaMember,
    Member,
    NewProtocolMember,
    describe,
    share_out,
)
from tests.waiting import until

EVERY_MEMBER = for_each_of(ALL_MEMBERS)
# Sessions: long for a member that returns, however busy the machine is, and short for one that does
# not.
LONG_SESSION_MS, SHORT_SESSION_MS = 45_000, 2_000


@EVERY_MEMBER
def test_a_static_member_returns_without_a_rebalance(
    kind: type[Member], join: Join, make_topic: MakeTopic, bootstrap: str, group: str
) -> None:
    topic = make_topic(3)
    configure_group(bootstrap, group, {"consumer.session.timeout.ms": str(LONG_SESSION_MS)})
    members: list[Member] = []
    for number in range(3):
        # They join one after the other, so that the first one leads.
        members.append(join(kind, group, [topic], instance=f"instance-{number}", session_ms=LONG_SESSION_MS))
        share_out(members, 3)
    instances = {member.group_instance_id for member in describe(bootstrap, group).members}
    assert instances == {"instance-0", "instance-1", "instance-2"}
    away, *others = members
    # The leader does not leave, because a returning leader may bring another assignment.
    if kind is not NewProtocolMember:
        away, *others = reversed(members)
    held, heard = away.owned, [len(other.events) for other in others]
    away.leave()
    fill(bootstrap, topic, numbered(0, 10), next(iter(away_partitions(held))))
    back = join(kind, group, [topic], instance=away.instance, session_ms=LONG_SESSION_MS)
    share_out([*others, back], 3)
    assert back.owned == held
    until(lambda: back.values == numbered(0, 10), "the returned member reads everything", seen=lambda: back.received)
    assert [len(other.events) for other in others] == heard, "the others were disturbed"


def away_partitions(held: frozenset[tuple[str, int]]) -> set[int]:
    return {partition for _, partition in held}


def test_the_generation_stays_when_a_static_member_returns(join: Join, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(2)
    stays = join(KafkaPythonMember, group, [topic], instance="stays", session_ms=LONG_SESSION_MS)
    share_out([stays], 2)
    goes = join(KafkaPythonMember, group, [topic], instance="goes", session_ms=LONG_SESSION_MS)
    share_out([stays, goes], 2)
    generation = stays.generation
    assert goes.generation == generation
    goes.leave()
    back = join(KafkaPythonMember, group, [topic], instance="goes", session_ms=LONG_SESSION_MS)
    share_out([stays, back], 2)
    assert stays.generation == back.generation == generation


@for_each_of([LibrdkafkaMember, NewProtocolMember])
def test_a_static_member_that_stays_away_is_replaced(
    kind: type[Member], join: Join, join_apart: Callable[..., MemberProcess], make_topic: MakeTopic, bootstrap: str, group: str
) -> None:
    topic = make_topic(2)
    configure_group(bootstrap, group, {"consumer.session.timeout.ms": str(SHORT_SESSION_MS)})
    stays = join(kind, group, [topic], instance="stays")
    share_out([stays], 2)
    goes = join_apart(kind, group, topic, instance="goes", session_ms=SHORT_SESSION_MS)
    until(
        lambda: len(goes.partitions) == len(stays.partitions) == 1,
        "each member has a partition",
        seen=lambda: (goes.partitions, stays.events),
    )
    goes.kill()
    share_out([stays], 2)


# aiokafka does not name the instance in its heartbeats, and so learns only that its member id is
# unknown: the two members would replace each other for ever.
@for_each_of([LibrdkafkaMember, KafkaPythonMember])
def test_the_older_of_two_members_with_one_instance_id_is_fenced(kind: type[Member], join: Join, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(2)
    older = join(kind, group, [topic], instance="one")
    share_out([older], 2)
    newer = join(kind, group, [topic], instance="one")
    until(lambda: older.failure is not None, "the older member is fenced", seen=lambda: (older.events, newer.events))
    assert "fenced" in str(older.failure).lower() or "FencedInstanceId" in repr(older.failure)
    share_out([newer], 2)


def test_the_newer_of_two_members_with_one_instance_id_is_refused_in_the_new_protocol(
    join: Join, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(2)
    older = join(NewProtocolMember, group, [topic], instance="one")
    share_out([older], 2)
    newer = join(NewProtocolMember, group, [topic], instance="one")
    until(lambda: newer.failure is not None, "the newer member is refused", seen=lambda: (older.events, newer.events))
    assert "instance ID is still used by another member" in str(newer.failure)
    share_out([older], 2)


def test_a_static_member_is_removed_by_name(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(2)
    stays = join(LibrdkafkaMember, group, [topic], instance="stays")
    goes = join(LibrdkafkaMember, group, [topic], instance="goes")
    share_out([stays, goes], 2)
    goes.leave()
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.remove_group_members(group, [MemberToRemove(group_instance_id="goes")])
    admin.close()
    share_out([stays], 2)
