from __future__ import annotations

from barnabas.console.core.leader_moves import BrokerLeads, broker_leads, leader_moves
from barnabas.console.core.reassignment import ongoing_move, plan
from barnabas.console.core.topic import Partition, ReplicaSize, Topic
from barnabas.reassignment.assignment import PartitionName

_FIRST, _SECOND, _THIRD = (PartitionName("t", number) for number in range(3))


def test_a_plan_counts_the_bytes_that_new_replicas_copy() -> None:
    current = {_FIRST: [1, 2], _SECOND: [1, 2], _THIRD: [2, 1]}
    made = plan(current, {_FIRST: [1, 3], _SECOND: [3, 4], _THIRD: [2, 1]}, {_FIRST: 100, _SECOND: 10})
    assert [(each.partition, each.adding, each.removing, each.copied_bytes) for each in made.moves] == [
        (0, [3], [2], 100),
        (1, [3, 4], [1, 2], 20),
    ]
    assert (made.partitions, made.copied_bytes) == (3, 120)
    assert [(each.broker, each.replicas_before, each.replicas_after, each.incoming_bytes) for each in made.brokers] == [
        (1, 3, 2, 0),
        (2, 3, 1, 0),
        (3, 0, 2, 110),
        (4, 0, 1, 10),
    ]


def test_a_new_order_of_replicas_copies_nothing() -> None:
    made = plan({_FIRST: [1, 2]}, {_FIRST: [2, 1]}, {})
    assert (made.moves[0].adding, made.copied_bytes) == ([], 0)
    assert [(each.leads_before, each.leads_after) for each in made.brokers] == [(1, 0), (0, 1)]


def test_the_bytes_of_a_plan_are_unknown_when_the_size_of_a_partition_is() -> None:
    assert plan({_FIRST: [1]}, {_FIRST: [2]}, {}).copied_bytes is None


def test_a_digest_differs_when_the_moves_differ() -> None:
    first, same = (plan({_FIRST: [1]}, {_FIRST: [2]}, sizes) for sizes in ({}, {_FIRST: 5}))
    assert first.digest == same.digest
    assert plan({_FIRST: [3]}, {_FIRST: [2]}, {}).digest != first.digest
    assert plan({_FIRST: [1]}, {_FIRST: [3]}, {}).digest != first.digest


def test_progress_is_the_share_of_the_leaders_bytes() -> None:
    sizes = [ReplicaSize("t", 0, 1, "/d", 200, 0, False), ReplicaSize("t", 0, 3, "/d", 50, 7, False)]
    move = ongoing_move(_FIRST, [1, 3], [3], [1], 1, sizes)
    assert (move.copied_bytes, move.total_bytes, move.share, move.records_behind) == (50, 200, 0.25, 7)
    assert ongoing_move(_FIRST, [1, 3], [3], [1], 2, sizes).share is None
    assert ongoing_move(_FIRST, [1, 3], [3], [], 1, [ReplicaSize("t", 0, 1, "/d", 0, 0, False)]).share == 1.0


def test_an_election_moves_the_lead_to_preferred_leaders_in_sync() -> None:
    partitions = [
        Partition(0, 2, 0, [1, 2], [1, 2], []),
        Partition(1, 2, 0, [3, 2], [2], [3]),
        Partition(2, 2, 0, [2, 1], [1, 2], []),
    ]
    topic = Topic("t", "", False, partitions)
    moves = leader_moves([topic])
    assert [(each.partition, each.leader, each.preferred, each.is_possible) for each in moves] == [(0, 2, 1, True), (1, 2, 3, False)]
    assert broker_leads([topic], moves) == [BrokerLeads(1, 0, 1), BrokerLeads(2, 3, 2), BrokerLeads(3, 0, 0)]
