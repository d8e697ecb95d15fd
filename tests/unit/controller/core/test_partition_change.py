"""One function decides the next state of a partition: its ISR and ELR, its leader, its epochs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hypothesis import given, strategies as st

from barnabas.controller.core.partition_change import Circumstances, Election, Wanted, partition_change
from barnabas.metadata.topics import RECOVERED, RECOVERING, PartitionImage
from barnabas.model.ids import NO_NODE, ZERO_UUID
from tests.unit.metadata.made import uuid
from tests.unit.records.made import repeatable

HERE = PartitionImage((1, 2, 3), (1, 2, 3), 1, leader_epoch=5, partition_epoch=9)


def after(
    partition: PartitionImage,
    wanted: Wanted = Wanted(),
    *,
    alive: Collection[int] = (1, 2, 3, 4, 5),
    election: Election = Election.ONLINE,
    min_isr: int = 2,
    eligible: bool = True,
) -> PartitionImage:
    circumstances = Circumstances(
        can_lead=lambda broker: broker in alive,
        default_directory=lambda broker: uuid(10 * broker),
        election=election,
        min_isr=min_isr,
        eligible_enabled=eligible,
    )
    record = partition_change(uuid(1), 0, partition, wanted, circumstances)
    return partition if record is None else partition.changed_by(record)


def leaderless(*, eligible: tuple[int, ...] = (), last: tuple[int, ...] = ()) -> PartitionImage:
    return replace(HERE, isr=(), leader=NO_NODE, eligible_leader_replicas=eligible, last_known_elr=last)


# -- nothing, and epochs ----------------------------------------------------------------------


def test_an_unchanged_partition_is_not_written() -> None:
    assert after(HERE) is HERE
    assert after(HERE, Wanted(isr=(1, 2, 3), recovery_state=RECOVERED)) is HERE


def test_every_change_raises_the_partition_epoch_and_only_a_new_leader_the_leader_epoch() -> None:
    shrunk = after(HERE, Wanted(isr=(1, 2)))
    assert (shrunk.leader_epoch, shrunk.partition_epoch) == (5, 10)
    moved = after(HERE, Wanted(isr=(2, 3)))
    assert (moved.leader, moved.leader_epoch, moved.partition_epoch) == (2, 6, 10)


def test_a_replica_that_is_removed_raises_the_leader_epoch_so_that_it_notices() -> None:
    removed = after(HERE, Wanted(isr=(1, 2), replicas=(1, 2)))
    assert (removed.replicas, removed.leader, removed.leader_epoch) == ((1, 2), 1, 6)


# -- leaders ----------------------------------------------------------------------------------


def test_a_leader_that_can_stay_stays() -> None:
    assert after(replace(HERE, leader=3), Wanted(isr=(2, 3))).leader == 3


def test_the_first_live_in_sync_replica_leads_when_the_leader_cannot_stay() -> None:
    assert after(HERE, Wanted(isr=(3, 2)), alive=(2, 3)).leader == 2
    assert after(HERE, Wanted(isr=(3, 2)), alive=(3,)).leader == 3


def test_the_preferred_leader_leads_when_it_is_asked_for_and_may() -> None:
    elsewhere = replace(HERE, leader=3)
    assert after(elsewhere).leader == 3
    assert after(elsewhere, election=Election.PREFERRED).leader == 1
    assert after(elsewhere, election=Election.PREFERRED, alive=(2, 3)).leader == 3
    assert after(replace(elsewhere, isr=(2, 3)), election=Election.PREFERRED).leader == 3


def test_a_clean_election_never_elects_a_replica_out_of_sync() -> None:
    nobody = after(replace(HERE, isr=(1,)), Wanted(isr=()), alive=(2, 3), min_isr=1)
    assert (nobody.leader, nobody.isr) == (NO_NODE, ())


def test_an_unclean_election_elects_a_replica_out_of_sync() -> None:
    anybody = after(replace(HERE, isr=(1,)), Wanted(isr=()), alive=(2, 3), min_isr=1, election=Election.UNCLEAN)
    assert (anybody.leader, anybody.isr, anybody.eligible_leader_replicas) == (2, (2,), ())
    assert anybody.leader_recovery_state == RECOVERING


def test_an_unclean_election_prefers_in_sync_and_eligible_replicas() -> None:
    clean = after(replace(HERE, isr=(1, 3)), Wanted(isr=(3,)), alive=(2, 3), min_isr=1, election=Election.UNCLEAN)
    assert (clean.leader, clean.leader_recovery_state) == (3, RECOVERED)
    eligible = after(leaderless(eligible=(3,)), alive=(2, 3), election=Election.UNCLEAN)
    assert (eligible.leader, eligible.leader_recovery_state) == (3, RECOVERED)


# -- eligible leader replicas -----------------------------------------------------------------


def test_a_replica_that_leaves_an_isr_of_sufficient_size_is_not_eligible() -> None:
    assert after(HERE, Wanted(isr=(1, 2))).eligible_leader_replicas == ()


def test_a_replica_that_leaves_an_isr_below_the_minimum_is_eligible() -> None:
    shrunk = after(HERE, Wanted(isr=(1,)))
    assert (shrunk.isr, shrunk.eligible_leader_replicas) == ((1,), (2, 3))


def test_an_empty_isr_keeps_the_elr_and_remembers_the_last_leader() -> None:
    one = after(HERE, Wanted(isr=(1,)))
    nobody = after(one, Wanted(isr=()), alive=())
    assert (nobody.leader, nobody.isr, nobody.eligible_leader_replicas, nobody.last_known_elr) == (NO_NODE, (), (1, 2, 3), (1,))


def test_enough_in_sync_again_ends_eligibility() -> None:
    shrunk = after(HERE, Wanted(isr=(1,)))
    assert after(shrunk, Wanted(isr=(1, 2))).eligible_leader_replicas == ()


def test_eligible_replicas_stay_eligible_while_the_isr_is_below_the_minimum() -> None:
    shrunk = after(HERE, Wanted(isr=(1,)), min_isr=3)
    grown = after(shrunk, Wanted(isr=(1, 3)), min_isr=3)
    assert (grown.isr, grown.eligible_leader_replicas) == ((1, 3), (2,))


def test_a_replica_that_lost_its_tail_is_neither_in_sync_nor_eligible() -> None:
    state = replace(HERE, isr=(1, 2), eligible_leader_replicas=(3,))
    changed = after(state, Wanted(isr=(1,), lost_their_tail=frozenset({2})), min_isr=3)
    assert (changed.isr, changed.eligible_leader_replicas) == ((1,), (3,))


def test_an_eligible_replica_begins_a_new_set() -> None:
    begun = after(leaderless(eligible=(2, 3), last=(1,)), alive=(3,))
    assert (begun.leader, begun.isr, begun.eligible_leader_replicas, begun.last_known_elr) == (3, (3,), (2,), ())
    assert begun.leader_recovery_state == RECOVERED


def test_an_eligible_replica_does_not_lead_while_the_isr_has_a_member() -> None:
    assert after(replace(HERE, isr=(1,), eligible_leader_replicas=(2, 3)), alive=(2, 3)).leader == NO_NODE


def test_the_last_leader_leads_again_in_recovery_when_no_replica_is_eligible() -> None:
    assert after(leaderless(last=(1,)), alive=(2, 3)).leader == NO_NODE
    again = after(leaderless(last=(1,)), alive=(1, 2, 3))
    assert (again.leader, again.isr, again.last_known_elr, again.leader_recovery_state) == (1, (1,), (), RECOVERING)


def test_the_last_leader_does_not_lead_while_another_replica_is_eligible() -> None:
    """It may have lost records that the eligible replica has."""
    assert after(leaderless(eligible=(2,), last=(1,)), alive=(1,)).leader == NO_NODE


def test_several_last_known_replicas_are_not_a_last_leader() -> None:
    assert after(leaderless(last=(1, 2))).leader == NO_NODE


def test_the_last_leader_is_remembered_once() -> None:
    first = after(replace(HERE, isr=(1,)), Wanted(isr=()), alive=())
    assert first.last_known_elr == (1,)
    assert after(first, Wanted(lost_their_tail=frozenset({1})), alive=()).last_known_elr == (1,)


# -- without eligible replicas ----------------------------------------------------------------


def test_the_last_in_sync_replica_stays_in_the_isr_without_the_elr_feature() -> None:
    alone = replace(HERE, isr=(1,))
    gone = after(alone, Wanted(isr=()), alive=(2, 3), eligible=False)
    assert (gone.leader, gone.isr, gone.eligible_leader_replicas, gone.last_known_elr) == (NO_NODE, (1,), (), ())
    assert after(gone, alive=(1, 2, 3), eligible=False).leader == 1


def test_the_elr_is_cleared_without_the_elr_feature() -> None:
    state = replace(HERE, isr=(1,), eligible_leader_replicas=(2,))
    assert after(state, eligible=False).eligible_leader_replicas == ()


# -- reassignment -----------------------------------------------------------------------------

MOVING = replace(HERE, replicas=(1, 2, 4, 3), adding_replicas=(4,), removing_replicas=(3,))


def test_a_reassignment_is_complete_when_all_that_are_added_are_in_sync() -> None:
    assert after(MOVING) is MOVING
    done = after(MOVING, Wanted(isr=(1, 2, 3, 4)))
    assert (done.replicas, done.isr, done.adding_replicas, done.removing_replicas) == ((1, 2, 4), (1, 2, 4), (), ())
    assert (done.leader, done.leader_epoch) == (1, 6)


def test_a_completed_reassignment_takes_leadership_from_a_removed_replica() -> None:
    moving = replace(HERE, replicas=(4, 2, 3, 1), adding_replicas=(4,), removing_replicas=(1,))
    done = after(moving, Wanted(isr=(1, 2, 3, 4)))
    assert (done.leader, done.isr, done.leader_epoch) == (4, (2, 3, 4), 6)


def test_a_reassignment_waits_while_no_remaining_replica_is_in_sync() -> None:
    moving = replace(HERE, isr=(3,), leader=3, removing_replicas=(3,))
    assert after(moving) is moving


def test_a_factor_is_not_reduced_before_all_that_stay_are_in_sync() -> None:
    shrinking = replace(HERE, isr=(1, 3), removing_replicas=(3,))
    assert after(shrinking) is shrinking
    assert after(shrinking, Wanted(isr=(1, 2, 3))).replicas == (1, 2)


def test_replicas_that_are_added_get_their_brokers_directory_and_the_others_keep_theirs() -> None:
    placed = replace(HERE, directories=(uuid(11), uuid(21), uuid(31)))
    wanted = Wanted(replicas=(1, 2, 4, 3), adding=(4,), removing=(3,))
    assert after(placed, wanted).directories == (uuid(11), uuid(21), uuid(40), uuid(31))
    assert after(after(placed, wanted), Wanted(isr=(1, 2, 3, 4))).directories == (uuid(11), uuid(21), uuid(40))


def test_a_replica_found_in_a_directory_changes_nothing_else() -> None:
    found = after(HERE, Wanted(directories={2: uuid(21)}))
    assert found.directories == (ZERO_UUID, uuid(21), ZERO_UUID)
    assert (found.leader, found.leader_epoch, found.isr) == (1, 5, (1, 2, 3))


# -- any order of events ----------------------------------------------------------------------


@repeatable
@given(
    st.lists(st.tuples(st.sampled_from(["goes", "comes", "crashes", "joins"]), st.integers(1, 3)), max_size=30),
    st.integers(1, 3),
)
def test_only_replicas_with_all_acknowledged_records_ever_lead(script: list[tuple[str, int]], min_isr: int) -> None:
    """A small model: whenever enough replicas are in sync, all of them acknowledge a record. A
    crash loses a replica's log. Unless every replica with a record crashes, each leader has all
    acknowledged records, or reports that it is recovering."""
    state, alive = HERE, {1, 2, 3}
    logs = {1: 0, 2: 0, 3: 0}
    acknowledged = 0
    for event, broker in script:
        if state.leader != NO_NODE and len(state.isr) >= min_isr:
            acknowledged += 1
            for replica in state.isr:
                logs[replica] = acknowledged
        isr = tuple(each for each in state.isr if each != broker)
        if event == "goes" and broker in alive:
            alive.remove(broker)
            state = after(state, Wanted(isr=isr), alive=alive, min_isr=min_isr)
        elif event == "crashes":
            alive.discard(broker)
            logs[broker] = 0
            state = after(state, Wanted(isr=isr, lost_their_tail=frozenset({broker})), alive=alive, min_isr=min_isr)
        elif event == "comes" and broker not in alive:
            alive.add(broker)
            if state.leader == NO_NODE:
                state = after(state, alive=alive, min_isr=min_isr)
        elif event == "joins" and broker in alive and state.leader != NO_NODE and broker not in state.isr:
            logs[broker] = logs[state.leader]
            state = after(state, Wanted(isr=(*state.isr, broker), recovery_state=RECOVERED), alive=alive, min_isr=min_isr)
        assert not set(state.isr) & set(state.eligible_leader_replicas)
        if state.leader != NO_NODE:
            assert state.leader in state.isr
            assert state.leader in alive
            if state.leader_recovery_state == RECOVERING:
                acknowledged = logs[state.leader]
            assert logs[state.leader] == acknowledged
