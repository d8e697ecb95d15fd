"""KIP-848 (``group.protocol=consumer``): its features, and groups that change to it and back."""

from __future__ import annotations

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from tests.conformance.groups.conftest import Join, MakeTopic, configure_group, create, fill, numbered
from tests.conformance.groups.members import KafkaPythonMember, LibrdkafkaMember, Member, NewProtocolMember, describe, share_out
from tests.waiting import until


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_broker_uses_the_assignor_of_the_members(assignor: str, join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topics = [make_topic(2) for _ in range(3)]
    members = [join(NewProtocolMember, group, topics, settings={"group.remote.assignor": assignor}) for _ in range(2)]
    everything = {(topic, partition) for topic in topics for partition in range(2)}
    until(
        lambda: [len(member.owned) for member in members] == [3, 3] and members[0].owned | members[1].owned == everything,
        "the partitions are shared",
        seen=lambda: [member.events for member in members],
    )
    until(lambda: describe(bootstrap, group).state is ConsumerGroupState.STABLE, "the group is stable")
    described = describe(bootstrap, group)
    assert described.partition_assignor == assignor
    assert described.type is ConsumerGroupType.CONSUMER
    for member in described.members:
        assert {(each.topic, each.partition) for each in member.assignment.topic_partitions} in [member.owned for member in members]
        assert member.target_assignment is not None
        assert len(member.target_assignment.topic_partitions) == 3
    if assignor == "range":
        # Partitions of the same number go to the same member, so that joins of topics work.
        assert {frozenset(member.partitions) for member in members} == {frozenset({0}), frozenset({1})}


def test_an_unknown_assignor_is_refused(join: Join, make_topic: MakeTopic, group: str) -> None:
    member = join(NewProtocolMember, group, [make_topic(1)], settings={"group.remote.assignor": "by-the-moon"})
    until(lambda: member.failure is not None, "the member fails", seen=lambda: member.events)
    assert "assignor" in str(member.failure)


def test_partitions_are_released_before_they_are_reassigned(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    """No member reads a partition that another still holds: of records that are written all the
    time, each is received once."""
    topic = make_topic(4)
    members = [join(NewProtocolMember, group, [topic])]
    share_out(members, 4)
    for number in range(3):
        for partition in range(4):
            fill(bootstrap, topic, [b"%d-%d" % (number, partition)], partition)
        members.append(join(NewProtocolMember, group, [topic]))
        share_out(members, 4)
    until(lambda: sum(len(member.values) for member in members) >= 12, "twelve records are read")
    received = sorted(value for member in members for value in member.values)
    assert received == sorted(b"%d-%d" % (number, partition) for number in range(3) for partition in range(4))


def test_a_member_may_subscribe_to_patterns_and_names(join: Join, admin: AdminClient, make_topic: MakeTopic, group: str) -> None:
    named = make_topic(1)
    matched = create(admin, f"pattern-{group}-1", 1)
    member = join(NewProtocolMember, group, [named, f"^pattern-{group}-.*"])
    until(lambda: member.owned == {(named, 0), (matched, 0)}, "the member owns the named and the matched topic", seen=lambda: member.events)


def test_an_invalid_pattern_is_refused(join: Join, group: str) -> None:
    """librdkafka checks a pattern first, and its regular expressions have back references; those of
    RE2 do not."""
    member = join(NewProtocolMember, group, r"^(a)\1")
    until(lambda: member.failure is not None, "the member fails", seen=lambda: member.events)
    assert "regular expression" in str(member.failure).lower()


def test_a_group_has_settings_of_its_own(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    configure_group(bootstrap, group, {"consumer.heartbeat.interval.ms": "150"})
    share_out([join(NewProtocolMember, group, [make_topic(2)])], 2)


# -- from one protocol to the other -----------------------------------------------------------


def test_an_empty_group_changes_its_protocol(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    topic = make_topic(1)
    kinds: list[type[Member]] = [LibrdkafkaMember, NewProtocolMember, KafkaPythonMember, NewProtocolMember]
    for number, kind in enumerate(kinds):
        fill(bootstrap, topic, numbered(10 * number, 10 * number + 10))
        member = join(kind, group, [topic])
        until(lambda member=member: len(member.values) >= 10, "the member reads ten records", seen=lambda member=member: member.events)  # type: ignore[misc]
        expected = ConsumerGroupType.CONSUMER if kind is NewProtocolMember else ConsumerGroupType.CLASSIC
        assert describe(bootstrap, group).type is expected
        member.leave()
        assert member.values == numbered(10 * number, 10 * number + 10)


def test_a_group_with_members_is_upgraded_and_downgraded(join: Join, make_topic: MakeTopic, bootstrap: str, group: str) -> None:
    """The group changes member by member: the first one of the new protocol converts the group, and
    the last one that leaves converts it back."""
    topic = make_topic(4)
    everybody = [join(LibrdkafkaMember, group, [topic], strategy="cooperative-sticky") for _ in range(2)]
    working = list(everybody)
    share_out(working, 4)
    sent = 0

    def replace_by(kind: type[Member]) -> None:
        nonlocal sent
        for partition in range(4):
            fill(bootstrap, topic, [b"%d" % sent], partition)
            sent += 1
        working.append(join(kind, group, [topic], strategy="cooperative-sticky"))
        everybody.append(working[-1])
        share_out(working, 4)
        working.pop(0).leave()
        share_out(working, 4)

    replace_by(NewProtocolMember)
    assert describe(bootstrap, group).type is ConsumerGroupType.CONSUMER
    replace_by(NewProtocolMember)
    assert describe(bootstrap, group).type is ConsumerGroupType.CONSUMER
    replace_by(LibrdkafkaMember)
    replace_by(LibrdkafkaMember)
    assert describe(bootstrap, group).type is ConsumerGroupType.CLASSIC
    until(lambda: sum(len(member.values) for member in everybody) >= sent, "everything that was sent is read")
    assert sorted(int(value) for member in everybody for value in member.values) == list(range(sent))


def test_a_group_of_the_new_protocol_is_dead_to_old_describe_requests(
    join: Join, make_topic: MakeTopic, bootstrap: str, group: str
) -> None:
    share_out([join(NewProtocolMember, group, [make_topic(1)])], 1)
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    described = admin.describe_groups([group])[group]
    admin.close()
    assert described["error"] is not None
    assert described["members"] == []
