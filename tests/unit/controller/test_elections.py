"""Who leads when brokers come and go: nobody who might not have everything that was acknowledged."""

from __future__ import annotations

from hypothesis import given, strategies as st

from barnabas.controller.elections import elect, with_broker, without_broker
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import NO_LEADER_CHANGE, PartitionImage
from barnabas.model.ids import NO_NODE
from barnabas.wire.metadata_records import FenceBrokerRecord, MetadataRecord, PartitionChangeRecord, TopicRecord, UnfenceBrokerRecord
from tests.unit.metadata.made import after, partition, registered, topic, uuid
from tests.unit.records.made import repeatable


def image(*records: MetadataRecord, brokers: tuple[int, ...] = (1, 2, 3), fenced: tuple[int, ...] = ()) -> MetadataImage:
    return after([*(registered(each, fenced=each in fenced) for each in brokers), TopicRecord(name="t", topic_id=uuid(1)), *records])


def only_change(records: list[MetadataRecord]) -> PartitionChangeRecord:
    (change,) = records
    assert isinstance(change, PartitionChangeRecord)
    return change


def test_a_leader_that_can_stay_stays() -> None:
    state = PartitionImage((1, 2, 3), (2, 3), 3, leader_epoch=0, partition_epoch=0)
    assert elect(state, (2, 3), lambda _: True) == 3


def test_otherwise_the_first_replica_that_is_in_sync_and_active() -> None:
    state = PartitionImage((1, 2, 3), (3, 2), 1, leader_epoch=0, partition_epoch=0)
    assert elect(state, (3, 2), lambda _: True) == 2
    assert elect(state, (3, 2), lambda broker: broker == 3) == 3


def test_nobody_out_of_sync_is_elected() -> None:
    state = PartitionImage((1, 2, 3), (1,), 1, leader_epoch=0, partition_epoch=0)
    assert elect(state, (1,), lambda broker: broker != 1) == NO_NODE


def test_a_leader_that_goes_is_replaced_and_leaves_the_in_sync_replicas() -> None:
    change = only_change(list(without_broker(image(partition(1, 0, [1, 2, 3])), 1)))
    assert (change.leader, change.isr) == (2, [2, 3])


def test_a_follower_that_goes_leaves_the_in_sync_replicas_and_the_leader_stays() -> None:
    change = only_change(list(without_broker(image(partition(1, 0, [1, 2, 3])), 3)))
    assert (change.leader, change.isr) == (NO_LEADER_CHANGE, [1, 2])


def test_the_last_in_sync_replica_goes_without_leaving_the_set() -> None:
    """It alone is known to have everything: nobody leads until it is back."""
    change = only_change(list(without_broker(image(partition(1, 0, [1, 2, 3], isr=[1])), 1)))
    assert (change.leader, change.isr) == (NO_NODE, None)


def test_who_has_no_part_in_a_partition_changes_nothing_by_going() -> None:
    assert list(without_broker(image(partition(1, 0, [1, 2])), 3)) == []
    assert list(without_broker(image(partition(1, 0, [1, 2, 3], isr=[1, 2])), 3)) == []


def test_fenced_brokers_are_not_elected() -> None:
    change = only_change(list(without_broker(image(partition(1, 0, [1, 2, 3]), fenced=(2,)), 1)))
    assert change.leader == 3


def test_a_broker_that_comes_back_leads_what_nobody_leads_and_it_has() -> None:
    records = [
        partition(1, 0, [1, 2], isr=[1], leader=NO_NODE),
        partition(1, 1, [1, 2], isr=[2], leader=NO_NODE),
        partition(1, 2, [2, 1], leader=2),
    ]
    change = only_change(list(with_broker(image(*records, fenced=(1,)), 1)))
    assert (change.partition_id, change.leader, change.isr) == (0, 1, None)


def test_a_broker_whose_directory_is_away_does_not_lead_what_lies_in_it() -> None:
    """It registered with the directories it still has. Its other partitions have no leader until the directory is back."""
    online, away = uuid(10), uuid(11)
    records = [
        partition(1, 0, [1], leader=NO_NODE, directories=[online]),
        partition(1, 1, [1], leader=NO_NODE, directories=[away]),
        partition(1, 2, [1], leader=NO_NODE),
    ]
    changed = [each.partition_id for each in with_broker(image(*records, brokers=(1,)), 1) if isinstance(each, PartitionChangeRecord)]
    assert changed == [0, 2]


def nobody_in_sync(index: int, eligible: list[int], last_known: list[int]) -> list[MetadataRecord]:
    """What Apache Kafka leaves behind when the last in-sync replica stops."""
    emptied = PartitionChangeRecord(
        partition_id=index, topic_id=uuid(1), isr=[], leader=NO_NODE, eligible_leader_replicas=eligible, last_known_elr=last_known
    )
    return [partition(1, index, [1, 2]), emptied]


def test_where_nobody_is_in_sync_an_eligible_replica_begins_a_new_set() -> None:
    state = image(*nobody_in_sync(0, [1], []), *nobody_in_sync(1, [2], [1]), fenced=(1, 2))
    change = only_change(list(with_broker(state, 1)))
    assert (change.partition_id, change.leader, change.isr) == (0, 1, [1])
    assert (change.eligible_leader_replicas, change.last_known_elr) == ([], [])


def test_without_eligible_replicas_who_led_last_may_lead_again() -> None:
    state = image(*nobody_in_sync(0, [], [1]), *nobody_in_sync(1, [], [2]), fenced=(1, 2))
    change = only_change(list(with_broker(state, 1)))
    assert (change.partition_id, change.leader, change.isr) == (0, 1, [1])


def test_a_leader_is_not_replaced_by_a_broker_whose_directory_is_away() -> None:
    records = [partition(1, 0, [1, 2, 3], directories=[uuid(10), uuid(999), uuid(30)])]
    assert only_change(list(without_broker(image(*records), 1))).leader == 3


def test_every_partition_of_a_broker_that_goes_is_seen_to() -> None:
    everything = after([*(registered(each) for each in (1, 2)), *topic(1, "a", [1, 2], [2, 1], [1, 2]), *topic(2, "b", [2, 1])])
    now = after(list(without_broker(everything, 1)), everything)
    states = [each for topic_image in now.topics.by_id.values() for each in topic_image.partitions.values()]
    assert {(each.leader, each.isr) for each in states} == {(2, (2,))}


@repeatable
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3)), max_size=20))
def test_brokers_come_and_go_and_only_in_sync_and_active_ones_ever_lead(script: list[tuple[bool, int]]) -> None:
    now = image(partition(1, 0, [1, 2, 3]), partition(1, 1, [2, 3, 1], isr=[2]))
    for comes, broker in script:
        if comes != now.cluster.brokers[broker].fenced:
            continue
        if comes:
            records = [*with_broker(now, broker), UnfenceBrokerRecord(id=broker, epoch=100 + broker)]
        else:
            records = [*without_broker(now, broker), FenceBrokerRecord(id=broker, epoch=100 + broker)]
        now = after(records, now)
        for state in now.topics.by_name["t"].partitions.values():
            assert state.isr, "somebody always has everything"
            if state.leader == NO_NODE:
                assert not [each for each in state.isr if now.cluster.brokers[each].active]
            else:
                assert state.leader in state.isr
                assert now.cluster.brokers[state.leader].active
