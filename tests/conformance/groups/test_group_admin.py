"""Groups are listed, described and deleted, and their offsets read, moved and deleted, by
confluent-kafka's and kafka-python's admin clients.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition as KafkaPythonPartition
from kafka.admin import GroupState, GroupType
from kafka.errors import GroupSubscribedToTopicError, NoError
from kafka.protocol.consumer import OffsetSpec

from tests.conformance.groups.conftest import Join, MakeTopic, fill, numbered
from tests.conformance.groups.members import LibrdkafkaMember, Member, NewProtocolMember, describe, share_out
from tests.conformance.groups.test_commits import consumer_of
from tests.waiting import PATIENCE_SECONDS, until

BOTH_PROTOCOLS = pytest.mark.parametrize("kind", [LibrdkafkaMember, NewProtocolMember], ids=lambda kind: kind.client)


@pytest.fixture
def python_admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield admin
    admin.close()


def code_of(failure: pytest.ExceptionInfo[KafkaException]) -> int:
    return int(failure.value.args[0].code())


# -- confluent-kafka --------------------------------------------------------------------------


@BOTH_PROTOCOLS
def test_a_group_is_described(
    kind: type[Member], join: Join, make_topic: MakeTopic, admin: AdminClient, bootstrap: str, group: str
) -> None:
    topic = make_topic(3)
    member = join(kind, group, [topic], settings={"client.id": "reader", "group.instance.id": "number-one"})
    share_out([member], 3)
    described = describe(bootstrap, group)
    assert described.group_id == group
    assert described.state is ConsumerGroupState.STABLE
    assert described.is_simple_consumer_group is False
    assert described.type is (ConsumerGroupType.CONSUMER if kind is NewProtocolMember else ConsumerGroupType.CLASSIC)
    assert described.partition_assignor == ("uniform" if kind is NewProtocolMember else "range")
    assert described.coordinator.id == 1
    (only,) = described.members
    assert (only.client_id, only.group_instance_id) == ("reader", "number-one")
    assert only.host.strip("/") == "127.0.0.1"
    assert sorted((each.topic, each.partition) for each in only.assignment.topic_partitions) == [(topic, number) for number in range(3)]


@BOTH_PROTOCOLS
def test_groups_are_listed_by_state_and_type(kind: type[Member], join: Join, make_topic: MakeTopic, admin: AdminClient, group: str) -> None:
    member = join(kind, group, [make_topic(1)])
    share_out([member], 1)
    kind_of_group = ConsumerGroupType.CONSUMER if kind is NewProtocolMember else ConsumerGroupType.CLASSIC
    other_kind = ConsumerGroupType.CLASSIC if kind is NewProtocolMember else ConsumerGroupType.CONSUMER

    def listed(**filters: object) -> dict[str, tuple[object, object]]:
        result = admin.list_consumer_groups(**filters).result(PATIENCE_SECONDS)
        assert result.errors == []
        return {each.group_id: (each.state, each.type) for each in result.valid}

    assert listed()[group] == (ConsumerGroupState.STABLE, kind_of_group)
    assert group in listed(states={ConsumerGroupState.STABLE})
    assert group not in listed(states={ConsumerGroupState.EMPTY})
    assert group in listed(types={kind_of_group})
    assert group not in listed(types={other_kind})
    member.leave()
    until(lambda: listed()[group] == (ConsumerGroupState.EMPTY, kind_of_group), "the group is empty", seen=lambda: listed()[group])
    assert group in listed(states={ConsumerGroupState.EMPTY}, types={kind_of_group})


@BOTH_PROTOCOLS
def test_a_group_is_deleted_when_it_is_empty(
    kind: type[Member], join: Join, make_topic: MakeTopic, admin: AdminClient, bootstrap: str, group: str
) -> None:
    topic = make_topic(1)
    fill(bootstrap, topic, numbered(0, 5))
    member = join(kind, group, [topic])
    until(lambda: len(member.values) == 5, "the member reads five records")
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups([group])[group].result(PATIENCE_SECONDS)
    assert code_of(refused) == KafkaError.NON_EMPTY_GROUP
    member.leave()
    admin.delete_consumer_groups([group])[group].result(PATIENCE_SECONDS)
    with pytest.raises(KafkaException) as gone:
        admin.delete_consumer_groups([group])[group].result(PATIENCE_SECONDS)
    assert code_of(gone) == KafkaError.GROUP_ID_NOT_FOUND
    # The offsets were deleted with the group.
    again = join(kind, group, [topic])
    until(lambda: again.values == numbered(0, 5), "the new member reads from the beginning", seen=lambda: again.received)


def test_a_missing_group_is_described_as_dead(bootstrap: str) -> None:
    described = describe(bootstrap, "nobody-was-ever-here")
    assert (described.state, described.members) == (ConsumerGroupState.DEAD, [])


def test_offsets_are_listed_and_altered(make_topic: MakeTopic, admin: AdminClient, group: str) -> None:
    topic = make_topic(3)
    change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 5), TopicPartition(topic, 1, 7)])
    altered = admin.alter_consumer_group_offsets([change])[group].result(PATIENCE_SECONDS)
    assert [(each.partition, each.offset, each.error) for each in altered.topic_partitions] == [(0, 5, None), (1, 7, None)]

    def listed(partitions: list[TopicPartition] | None) -> list[tuple[int, int]]:
        request = ConsumerGroupTopicPartitions(group, partitions)
        found = admin.list_consumer_group_offsets([request], require_stable=True)[group].result(PATIENCE_SECONDS)
        return sorted((each.partition, each.offset) for each in found.topic_partitions)

    assert listed(None) == [(0, 5), (1, 7)]
    assert listed([TopicPartition(topic, 1), TopicPartition(topic, 2)]) == [(1, 7), (2, -1001)]


@BOTH_PROTOCOLS
def test_offsets_of_a_group_with_members_cannot_be_altered(
    kind: type[Member], join: Join, make_topic: MakeTopic, admin: AdminClient, group: str
) -> None:
    topic = make_topic(1)
    share_out([join(kind, group, [topic])], 1)
    change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 5)])
    (refused,) = admin.alter_consumer_group_offsets([change])[group].result(PATIENCE_SECONDS).topic_partitions
    assert refused.error.code() == KafkaError.UNKNOWN_MEMBER_ID


# -- kafka-python -----------------------------------------------------------------------------


def test_kafka_python_describes_and_lists(join: Join, make_topic: MakeTopic, python_admin: KafkaAdminClient, group: str) -> None:
    topic = make_topic(2)
    member = join(LibrdkafkaMember, group, [topic], settings={"client.id": "reader"})
    share_out([member], 2)
    described = python_admin.describe_groups([group])[group]
    assert (described["error"], described["group_state"], described["protocol_type"], described["protocol_data"]) == (
        None,
        "Stable",
        "consumer",
        "range",
    )
    (only,) = described["members"]
    assert (only["client_id"], only["client_host"].strip("/")) == ("reader", "127.0.0.1")
    (assigned,) = only["member_assignment"]["assigned_partitions"]
    assert (assigned["topic"], sorted(assigned["partitions"])) == (topic, [0, 1])
    assert python_admin.describe_groups(["nobody-was-ever-here"])["nobody-was-ever-here"]["group_state"] == "Dead"
    (listed,) = (each for each in python_admin.list_groups() if each["group_id"] == group)
    assert (listed["protocol_type"], listed["group_state"], listed["group_type"]) == ("consumer", "Stable", "classic")
    assert group in [each["group_id"] for each in python_admin.list_groups(states_filter=[GroupState.STABLE])]
    assert group not in [each["group_id"] for each in python_admin.list_groups(types_filter=[GroupType.CONSUMER])]


def test_kafka_python_moves_and_deletes_offsets(make_topic: MakeTopic, python_admin: KafkaAdminClient, bootstrap: str, group: str) -> None:
    topic = make_topic(2)
    for partition in range(2):
        fill(bootstrap, topic, numbered(0, 10), partition)
    first, second = KafkaPythonPartition(topic, 0), KafkaPythonPartition(topic, 1)
    python_admin.alter_group_offsets(group, {first: OffsetAndMetadata(3, "moved", -1), second: OffsetAndMetadata(4, "", -1)})
    found = python_admin.list_group_offsets(group)[group]
    assert {partition: (each.offset, each.metadata) for partition, each in found.items()} == {first: (3, "moved"), second: (4, "")}
    python_admin.reset_group_offsets(group, {first: OffsetSpec.LATEST, second: OffsetSpec.EARLIEST})
    found = python_admin.list_group_offsets(group)[group]
    assert {partition: each.offset for partition, each in found.items()} == {first: 10, second: 0}
    python_admin.delete_group_offsets(group, [second])
    assert list(python_admin.list_group_offsets(group)[group]) == [first]
    assert python_admin.delete_groups([group]) == {group: "OK"}
    assert python_admin.delete_groups([group]) == {group: "GroupIdNotFoundError"}
    assert group not in [each["group_id"] for each in python_admin.list_groups()]


@BOTH_PROTOCOLS
def test_offsets_of_a_subscribed_topic_are_not_deleted(
    kind: type[Member], join: Join, make_topic: MakeTopic, python_admin: KafkaAdminClient, bootstrap: str, group: str
) -> None:
    read, forgotten = make_topic(1), make_topic(1)
    early = consumer_of(bootstrap, group)
    early.commit(offsets=[TopicPartition(read, 0, 1), TopicPartition(forgotten, 0, 1)], asynchronous=False)
    early.close()
    share_out([join(kind, group, [read])], 1)
    partitions = [KafkaPythonPartition(read, 0), KafkaPythonPartition(forgotten, 0)]
    assert python_admin.delete_group_offsets(group, partitions) == {partitions[0]: GroupSubscribedToTopicError, partitions[1]: NoError}
