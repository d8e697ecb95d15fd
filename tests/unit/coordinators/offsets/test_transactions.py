"""The offsets of a transaction count together or not at all, and from its end on."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from tests.unit.coordinators.offsets.desk import Desk

UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_offsets_wait_for_the_end_of_their_transaction() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1))
    assert desk.commit_in_transaction(("t", 0, 5), ("t", 1, 6)) == {("t", 0): 0, ("t", 1): 0}
    assert desk.fetch({"t": [0, 1]}) == {("t", 0): 1, ("t", 1): -1}
    desk.end()
    assert desk.fetch({"t": [0, 1]}) == {("t", 0): 5, ("t", 1): 6}
    desk.restart()
    assert desk.fetch({"t": [0, 1]}) == {("t", 0): 5, ("t", 1): 6}


def test_offsets_of_an_aborted_transaction_never_were() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1))
    desk.commit_in_transaction(("t", 0, 5))
    desk.end(committed=False)
    assert desk.fetch() == {("t", 0): 1}
    desk.restart()
    assert desk.fetch(stable=True) == {("t", 0): 1}


def test_readers_that_want_stable_offsets_are_asked_to_wait_also_after_a_restart() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1), ("t", 1, 2))
    desk.commit_in_transaction(("t", 0, 5))
    for _ in range(2):
        assert desk.fetch({"t": [0, 1]}, stable=True) == {("t", 0): UNSTABLE, ("t", 1): 2}
        assert desk.fetch(None, stable=True) == {("t", 0): UNSTABLE, ("t", 1): 2}
        desk.restart()
    desk.end()
    assert desk.fetch({"t": [0, 1]}, stable=True) == {("t", 0): 5, ("t", 1): 2}


def test_a_partition_is_stable_when_the_last_transaction_on_it_has_ended() -> None:
    desk = Desk()
    desk.commit_in_transaction(("t", 0, 5), producer=1)
    desk.commit_in_transaction(("t", 0, 6), producer=2)
    desk.end(1)
    assert desk.fetch({"t": [0]}, stable=True) == {("t", 0): UNSTABLE}
    desk.end(2)
    assert desk.fetch({"t": [0]}, stable=True) == {("t", 0): 6}


def test_the_commit_that_was_written_later_counts_whichever_transaction_ended_first() -> None:
    desk = Desk()
    desk.commit_in_transaction(("t", 0, 5), producer=1)
    desk.commit_in_transaction(("t", 0, 6), producer=2)
    desk.end(2)
    desk.end(1)
    assert desk.fetch() == {("t", 0): 6}
    desk.commit_in_transaction(("t", 0, 7), producer=1)
    desk.commit(("t", 0, 8))
    desk.end(1)
    assert desk.fetch() == {("t", 0): 8}
    desk.restart()
    assert desk.fetch() == {("t", 0): 8}


def test_a_deleted_offset_is_not_brought_back_by_a_transaction() -> None:
    desk = Desk()
    desk.commit(("t", 0, 1))
    desk.commit_in_transaction(("t", 0, 5), ("t", 1, 6))
    desk.delete(("t", 0))
    desk.end()
    desk.restart()
    assert desk.fetch() == {("t", 1): 6}


def test_a_consumer_that_was_thrown_out_cannot_commit_through_its_producer() -> None:
    desk = Desk()
    group = desk.group(on_commit=ErrorCode.UNKNOWN_MEMBER_ID)
    refused = desk.commit_in_transaction(("t", 0, 1), generation_id=3, member_id="m", group_instance_id="i")
    assert refused is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.asked == [{"member_id": "m", "instance_id": "i", "epoch": 3, "transactional": True}]
    assert desk.log.batches == []


def test_producers_know_generations_and_no_member_epochs() -> None:
    desk = Desk()
    desk.group(on_commit=ErrorCode.STALE_MEMBER_EPOCH)
    assert desk.commit_in_transaction(("t", 0, 1), generation_id=3, member_id="m") is ErrorCode.ILLEGAL_GENERATION
    assert desk.commit_in_transaction(("t", 0, 1), group="nobody", generation_id=3) is ErrorCode.ILLEGAL_GENERATION
    assert desk.commit_in_transaction(("t", 0, 1), group="nobody") == {("t", 0): 0}


def test_a_transactional_commit_is_no_heartbeat() -> None:
    desk = Desk()
    group = desk.group()
    desk.commit_in_transaction(("t", 0, 1), member_id="m")
    assert group.heartbeats == []


def test_metadata_is_limited_here_too() -> None:
    desk = Desk(GroupSettings(offset_metadata_bytes_max=3))
    assert desk.commit_in_transaction(("t", 0, 1), metadata="four") == {("t", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert desk.log.batches == []


# -- any history -----------------------------------------------------------------------------------

PARTITIONS = st.integers(0, 2)
PRODUCERS = st.integers(1, 3)
STEPS = st.one_of(
    st.tuples(st.just("commit"), PARTITIONS),
    st.tuples(st.just("transaction"), PRODUCERS, st.sets(PARTITIONS, min_size=1)),
    st.tuples(st.just("end"), PRODUCERS, st.booleans()),
    st.tuples(st.just("delete"), PARTITIONS),
    st.tuples(st.just("refused"), PARTITIONS),
    st.tuples(st.just("restart")),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_offsets_that_only_rise_never_go_back_and_transactions_are_all_or_nothing(history: list[tuple]) -> None:  # type: ignore[type-arg]
    """Every commit has a higher offset than all before it. Then reads may only rise, except after
    deletions, and they equal a model that takes the higher offset.
    """
    desk = Desk()
    expected: dict[int, int] = {}
    open_transactions: dict[int, dict[int, int]] = {}
    for offset, step in enumerate(history, start=1):
        match step:
            case ("commit", partition):
                desk.commit(("t", partition, offset))
                expected[partition] = offset
            case ("transaction", producer, partitions):
                desk.commit_in_transaction(*(("t", partition, offset) for partition in partitions), producer=producer)
                open_transactions.setdefault(producer, {}).update(dict.fromkeys(partitions, offset))
            case ("end", producer, committed):
                desk.end(producer, committed=committed)
                for partition, pending in open_transactions.pop(producer, {}).items():
                    if committed:
                        expected[partition] = max(pending, expected.get(partition, -1))
            case ("delete", partition):
                desk.delete(("t", partition))
                expected.pop(partition, None)
                for pending_offsets in open_transactions.values():
                    pending_offsets.pop(partition, None)
            case ("refused", partition):
                desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
                desk.commit(("t", partition, offset))
                desk.log.refusal = ErrorCode.NONE
            case ("restart",):
                desk.restart()
        assert desk.fetch(None) == {("t", partition): known for partition, known in expected.items()}
        unstable = {partition for pending_offsets in open_transactions.values() for partition in pending_offsets}
        stable = desk.fetch({"t": [0, 1, 2]}, stable=True)
        assert isinstance(stable, dict)
        assert {partition for (_, partition), known in stable.items() if known is UNSTABLE} == unstable


def test_a_group_that_was_deleted_while_its_transaction_was_open_exists_again_when_the_transaction_commits() -> None:
    """Older Kafkas write such logs. Without the group, the fetched offset would be -1, and
    consumers would read from the start again.
    """
    desk = Desk()
    desk.commit_in_transaction(("t", 0, 5))
    desk.run(lambda machine: Outcome(None, machine.shard.groups["g"].tombstones()))
    desk.end()
    assert desk.fetch({"t": [0]}) == {("t", 0): 5}
    desk.restart()
    assert desk.fetch({"t": [0]}) == {("t", 0): 5}
