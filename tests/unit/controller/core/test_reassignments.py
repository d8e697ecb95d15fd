"""Replicas added, moved, removed, and moves that are cancelled, replaced and listed."""

from __future__ import annotations

import pytest

from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest, ListPartitionReassignmentsTopics
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord
from tests.unit.controller.core.deciding import Office
from tests.unit.controller.core.test_alter_partition import only, report
from tests.unit.controller.core.test_brokers import beat
from tests.unit.metadata.made import registered, topic


def cluster(*replicas: list[int], unclean: bool = False) -> Office:
    records: list[MetadataRecord] = [*(registered(each) for each in (1, 2, 3, 4, 5)), *topic(1, "t", *(replicas or ([1, 2, 3],)))]
    if unclean:
        records.append(ConfigRecord(resource_type=2, resource_name="t", name="unclean.leader.election.enable", value="true"))
    return Office(records)


def move(replicas: list[int] | None, *, index: int = 0, name: str = "t", same_factor: bool = False) -> AlterPartitionReassignmentsRequest:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    return AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=not same_factor, topics=[ReassignableTopic(name=name, partitions=[partition])]
    )


def moved(office: Office, replicas: list[int] | None, *, same_factor: bool = False) -> PartitionImage:
    response = office.ask(move(replicas, same_factor=same_factor))
    assert (response.error_code, response.allow_replication_factor_change) == (0, not same_factor)
    assert [(each.error_code, each.error_message) for each in response.responses[0].partitions] == [(0, None)]
    return state(office)


def refusal(office: Office, request: AlterPartitionReassignmentsRequest) -> ErrorCode:
    outcome = office.decide(request)
    assert outcome.records == []
    return ErrorCode(outcome.response.responses[0].partitions[0].error_code)


def state(office: Office) -> PartitionImage:
    return office.image.topics.by_name["t"].partitions[0]


def in_sync(office: Office, *isr: int) -> None:
    """The leader reports its ISR."""
    now = state(office)
    answer = only(office.ask(report(list(isr), broker=now.leader, leader_epoch=now.leader_epoch, partition_epoch=now.partition_epoch)))
    assert answer.error_code in (ErrorCode.NONE, ErrorCode.NEW_LEADER_ELECTED)


# -- moving -----------------------------------------------------------------------------------


def test_a_replica_is_moved_by_adding_one_and_then_removing_the_other() -> None:
    office = cluster()
    begun = moved(office, [1, 2, 4])
    assert (begun.replicas, begun.adding_replicas, begun.removing_replicas, begun.isr) == ((1, 2, 4, 3), (4,), (3,), (1, 2, 3))
    # No replica is removed yet, so the leader epoch stays.
    assert (begun.leader, begun.leader_epoch) == (1, 0)
    in_sync(office, 1, 2, 3, 4)
    done = state(office)
    assert (done.replicas, done.isr, done.reassigning, done.leader_epoch) == ((1, 2, 4), (1, 2, 4), False, 1)


def test_a_reassignment_of_all_replicas_elects_a_new_leader() -> None:
    office = cluster([1, 2])
    assert moved(office, [3, 4]).replicas == (3, 4, 1, 2)
    in_sync(office, 1, 2, 3)
    assert state(office).reassigning
    in_sync(office, 1, 2, 3, 4)
    assert (state(office).replicas, state(office).leader, state(office).isr) == ((3, 4), 3, (3, 4))


def test_replicas_are_added() -> None:
    office = cluster([1])
    begun = moved(office, [1, 2, 3])
    assert (begun.replicas, begun.adding_replicas, begun.removing_replicas) == ((1, 2, 3), (2, 3), ())
    in_sync(office, 1, 2, 3)
    assert (state(office).adding_replicas, state(office).isr) == ((), (1, 2, 3))


def test_replicas_are_removed_at_once_when_all_that_stay_are_in_sync() -> None:
    office = cluster()
    done = moved(office, [2, 3])
    assert (done.replicas, done.isr, done.leader, done.leader_epoch, done.reassigning) == ((2, 3), (2, 3), 2, 1, False)


def test_another_order_makes_another_preferred_leader_and_nothing_else() -> None:
    office = cluster()
    done = moved(office, [3, 1, 2])
    assert (done.replicas, done.leader, done.leader_epoch, done.reassigning, done.preferred_leader) == ((3, 1, 2), 1, 0, False, 3)


def test_an_unchanged_assignment_is_not_written() -> None:
    outcome = cluster().decide(move([1, 2, 3]))
    assert (outcome.response.responses[0].partitions[0].error_code, outcome.records) == (0, [])


def test_a_broker_that_is_lost_may_complete_a_removal() -> None:
    """Every change of the partition checks whether the reassignment can complete."""
    office = cluster([1, 2])
    moved(office, [1, 3])
    in_sync(office, 1, 2, 3)
    assert state(office).replicas == (1, 3)


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (move([1], name="none"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (move([1], index=7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (move([]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (move([1, 1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (move([1, 9]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (move([1, -1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (move(None), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (move([1, 2], same_factor=True), ErrorCode.INVALID_REPLICATION_FACTOR),
        (move([1, 2, 3, 4], same_factor=True), ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_moves_that_are_refused(request_: AlterPartitionReassignmentsRequest, error: ErrorCode) -> None:
    assert refusal(cluster(), request_) is error


def test_the_factor_that_must_not_change_is_that_of_the_end() -> None:
    office = cluster()
    moved(office, [1, 2, 4], same_factor=True)
    moved(office, [1, 2, 5], same_factor=True)
    assert refusal(office, move([1, 2, 3, 4], same_factor=True)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_every_partition_is_decided_by_itself() -> None:
    office = cluster([1, 2], [1, 2])
    request = move([3, 2])
    request.topics[0].partitions.append(ReassignablePartition(partition_index=1, replicas=[9]))
    codes = [each.error_code for each in office.ask(request).responses[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert state(office).adding_replicas == (3,)


# -- cancelling and replacing -----------------------------------------------------------------


def test_a_cancelled_move_restores_the_old_replicas() -> None:
    office = cluster()
    moved(office, [4, 5, 3])
    in_sync(office, 1, 2, 3, 4)
    back = moved(office, None)
    assert (set(back.replicas), set(back.isr), back.reassigning, back.leader) == ({1, 2, 3}, {1, 2, 3}, False, 1)


def test_a_move_is_not_cancelled_when_only_new_replicas_are_in_sync() -> None:
    office = cluster([1])
    moved(office, [3, 4])
    in_sync(office, 1, 3)
    office.ask(beat(101, fence=True))
    assert state(office).isr == (3,)
    assert refusal(office, move(None)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_move_is_cancelled_uncleanly_where_the_topic_allows_it() -> None:
    office = cluster([1], unclean=True)
    moved(office, [3, 4])
    in_sync(office, 1, 3)
    office.ask(beat(101, fence=True))
    office.ask(beat(101))
    back = moved(office, None)
    assert (back.replicas, back.isr, back.leader) == ((1,), (1,), 1)


def test_a_second_move_replaces_the_first_and_drops_its_new_replicas() -> None:
    office = cluster()
    moved(office, [1, 2, 4])
    again = moved(office, [1, 2, 5])
    assert (again.replicas, again.adding_replicas, again.removing_replicas) == ((1, 2, 5, 3), (5,), (3,))
    # Broker 4 must stop; the new leader epoch makes it notice.
    assert again.leader_epoch == 1


def test_a_second_move_that_extends_the_first_still_knows_the_original_replicas() -> None:
    office = cluster()
    moved(office, [1, 2, 4])
    again = moved(office, [1, 4, 5])
    assert (again.replicas, again.adding_replicas, again.removing_replicas) == ((1, 4, 5, 2, 3), (4, 5), (2, 3))
    assert set(moved(office, None).replicas) == {1, 2, 3}


def test_a_move_back_to_where_it_began_is_done_at_once() -> None:
    office = cluster()
    moved(office, [1, 2, 4])
    back = moved(office, [1, 2, 3])
    assert (back.replicas, back.isr, back.reassigning) == ((1, 2, 3), (1, 2, 3), False)


def test_a_second_reassignment_keeps_the_only_in_sync_replica() -> None:
    office = cluster([1])
    moved(office, [3, 4])
    in_sync(office, 1, 3)
    office.ask(beat(101, fence=True))
    again = moved(office, [1, 5])
    assert (3 in again.replicas, again.isr, again.leader, 3 in again.removing_replicas) == (True, (3,), 3, True)


# -- listing ----------------------------------------------------------------------------------


def listed(
    office: Office, topics: list[ListPartitionReassignmentsTopics] | None = None
) -> list[tuple[str, int, list[int], list[int], list[int]]]:
    response = office.ask(ListPartitionReassignmentsRequest(topics=topics))
    assert (response.error_code, response.error_message) == (0, None)
    return [
        (each.name, one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
        for each in response.topics
        for one in each.partitions
    ]


def test_ongoing_moves_are_listed_and_others_are_not() -> None:
    office = cluster([1, 2, 3], [1, 2, 3])
    assert listed(office) == []
    moved(office, [1, 2, 4])
    ongoing = ("t", 0, [1, 2, 4, 3], [4], [3])
    assert listed(office) == [ongoing]
    named = [
        ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 1, 9]),
        ListPartitionReassignmentsTopics(name="none", partition_indexes=[0]),
    ]
    assert listed(office, named) == [ongoing]
    assert listed(office, [ListPartitionReassignmentsTopics(name="t", partition_indexes=[1])]) == []
