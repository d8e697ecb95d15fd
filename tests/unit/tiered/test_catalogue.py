"""The state that the catalogue of a partition builds from the events of the metadata topic."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from hypothesis import given, settings, strategies as st

from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentId, RemoteSegmentMetadata
from barnabas.tiered.metadata.segment_state import may_follow
from tests.unit.tiered.made import DELETED, DELETING, FINISHED, catalogue, random_events, segment, segment_id, update


def ids(segments: list[RemoteSegmentMetadata]) -> list[RemoteSegmentId]:
    return [each.id for each in segments]


def test_a_segment_serves_from_the_end_of_its_copy_to_the_beginning_of_its_deletion() -> None:
    made = RemoteCatalogue()
    serving = []
    for event in (segment(1, 0, 9), update(1, FINISHED), update(1, DELETING), update(1, DELETED)):
        assert made.apply(event) is None
        serving.append(made.segment_for(0, 5) is not None)
    assert serving == [False, True, False, False]
    assert not made.segments()
    assert not made.epochs()


def test_an_epoch_serves_the_offsets_that_were_written_in_it() -> None:
    made = catalogue(segment(1, 0, 9, {0: 0, 2: 6}), segment(2, 10, 19, {2: 10}))
    found = [(epoch, offset) for epoch in range(4) for offset in range(25) if made.segment_for(epoch, offset)]
    assert found == [(0, offset) for offset in range(6)] + [(2, offset) for offset in range(6, 20)]
    assert (made.highest_offset(0), made.highest_offset(1), made.highest_offset(2)) == (5, None, 19)
    assert made.epochs() == [0, 2]


def test_a_larger_copy_by_the_next_leader_takes_over() -> None:
    made = catalogue(segment(1, 0, 100), segment(2, 0, 200))
    assert made.segment_for(0, 50) == made.segment_for(0, 150) == made.get(segment_id(2))
    assert ids(made.unreferenced()) == [segment_id(1)]
    assert ids(made.segments_of(0)) == [segment_id(1), segment_id(2)]


def test_a_copy_that_was_taken_over_and_is_announced_again_changes_nothing() -> None:
    made = catalogue(segment(1, 0, 100), segment(2, 0, 200))
    assert made.apply(update(1, FINISHED)) is None
    assert made.segment_for(0, 150) == made.get(segment_id(2))


def test_overlapping_copies_serve_the_later_one() -> None:
    made = catalogue(segment(1, 10, 90), segment(2, 5, 100), segment(3, 101, 200))
    assert [made.segment_for(0, offset) == made.get(segment_id(number)) for offset, number in ((5, 2), (95, 2), (101, 3))] == [True] * 3


def test_expiry_does_not_lower_the_highest_copied_offset() -> None:
    made = catalogue(segment(1, 0, 9))
    made.apply(update(1, DELETING))
    made.apply(update(1, DELETED))
    assert made.highest_offset(0) == 9


def test_a_copy_that_ends_after_its_deletion_began_never_serves() -> None:
    made = RemoteCatalogue()
    made.apply(segment(1, 0, 9))
    made.apply(update(1, DELETING))
    assert made.apply(update(1, FINISHED)) is not None
    assert made.segment_for(0, 5) is None
    assert made.highest_offset(0) is None


def test_impossible_events_are_ignored_and_returned_as_a_sentence() -> None:
    made = RemoteCatalogue()
    assert "is unknown" in str(made.apply(update(1, FINISHED)))
    assert made.apply(segment(1, 0, 9)) is None
    assert made.apply(segment(1, 0, 9)) is None
    made.apply(update(1, FINISHED))
    assert "cannot go back" in str(made.apply(segment(1, 0, 9)))
    assert "cannot go from" in str(made.apply(update(1, DELETED)))
    version = made.version
    assert made.apply(update(2, DELETED)) is not None
    assert made.version == version


def test_every_change_makes_a_new_version() -> None:
    made = RemoteCatalogue()
    versions = [made.version]
    for event in (segment(1, 0, 9), update(1, FINISHED), update(1, DELETING), update(1, DELETED)):
        made.apply(event)
        versions.append(made.version)
    assert versions == sorted(set(versions))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_the_catalogue_agrees_with_a_simple_model_for_any_events(seed: int, count: int) -> None:
    """The model keeps only states. Every segment that serves an offset was copied and holds the
    offset, and the only copy of an epoch serves."""
    made = RemoteCatalogue()
    states: dict[RemoteSegmentId, RemoteSegmentMetadata] = {}
    ever_copied: dict[int, set[RemoteSegmentId]] = defaultdict(set)
    for event in random_events(Random(seed), count):
        known = states.get(event.id)
        possible = may_follow(None if known is None else known.state, event.state)
        assert (made.apply(event) is None) == possible
        if possible and isinstance(event, RemoteSegmentMetadata):
            states.setdefault(event.id, event)
        elif possible and known is not None and not isinstance(event, RemoteSegmentMetadata):
            states[event.id] = known.updated(event)
            if event.state is FINISHED:
                for entry in known.leader_epochs:
                    ever_copied[entry.epoch].add(event.id)
            if event.state is DELETED:
                del states[event.id]
        assert {each.id: each.state for each in made.segments()} == {each.id: each.state for each in states.values()}
    copied = [each for each in states.values() if each.state is FINISHED]
    for epoch in range(6):
        for offset in range(0, 150, 3):
            holding = [each.id for each in copied if holds(each, epoch, offset)]
            found = made.segment_for(epoch, offset)
            assert found is None or found.id in holding
            # A segment that was replaced does not come back when its successor is deleted, as in
            # Kafka.
            assert found is not None or not holding or len(ever_copied[epoch]) > 1
    for each in copied:
        for entry in each.leader_epochs:
            highest = made.highest_offset(entry.epoch)
            assert highest is not None
            assert highest >= each.epoch_end_offset(entry.epoch)


def holds(each: RemoteSegmentMetadata, epoch: int, offset: int) -> bool:
    return any(entry.epoch == epoch and entry.start_offset <= offset <= each.epoch_end_offset(epoch) for entry in each.leader_epochs)
