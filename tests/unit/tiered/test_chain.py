"""The chain: the remote segments of a catalogue along the epochs of one log."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings, strategies as st

from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.chain import NOTHING_COPIED, build_chain, earliest_remote_offset, highest_copied_offset, is_within
from tests.unit.tiered.made import DELETED, DELETING, catalogue, lineage, random_events, segment, segment_id, update


def test_links_follow_each_other_over_epochs() -> None:
    made = catalogue(segment(1, 0, 9, {0: 0}), segment(2, 10, 19, {0: 10, 3: 15}), segment(3, 20, 29, {3: 20}))
    chain = build_chain(made, lineage({0: 0, 3: 15}), 40)
    assert [(link.start_offset, link.end_offset) for link in chain.links] == [(0, 9), (10, 19), (20, 29)]
    assert chain.start_offset == 0
    holding = [link.segment.id if link else None for link in map(chain.holding, (0, 9, 10, 17, 29, 30))]
    assert holding == [*(segment_id(number) for number in (1, 1, 2, 2, 3)), None]


def test_segments_of_another_history_have_no_link() -> None:
    """Epoch 1 wrote 10 to 19 and was truncated at 15 by an unclean election; epoch 2 continued from
    there."""
    made = catalogue(segment(1, 0, 9, {0: 0}), segment(2, 10, 19, {1: 10}), segment(3, 10, 29, {1: 10, 2: 15}))
    chain = build_chain(made, lineage({0: 0, 1: 10, 2: 15}), 30)
    assert [(link.start_offset, link.end_offset, link.segment.id) for link in chain.links] == [
        (0, 9, segment_id(1)),
        (10, 29, segment_id(3)),
    ]
    only_old = build_chain(catalogue(segment(2, 10, 19, {1: 10})), lineage({1: 10, 2: 15}), 30)
    assert [(link.start_offset, link.end_offset) for link in only_old.links] == [(10, 14)]
    assert not build_chain(made, lineage({5: 0}), 30).links


def test_no_link_holds_the_offsets_of_a_hole() -> None:
    chain = build_chain(catalogue(segment(1, 0, 9), segment(3, 20, 29)), lineage({0: 0}), 40)
    assert chain.holding(15) is None
    assert chain.slot(15) == 1
    assert chain.slot(35) == 2


def copied(made: RemoteCatalogue, epochs: dict[int, int], *, local_start: int = 0) -> int:
    return highest_copied_offset(made, lineage(epochs), 30, local_start_offset=local_start)


def test_copying_continues_after_the_last_remote_offset_of_this_log() -> None:
    epochs = {0: 0, 1: 10, 2: 15}
    one, two, three = segment(1, 0, 9), segment(2, 10, 19, {1: 10}), segment(3, 15, 24, {2: 15})
    assert copied(RemoteCatalogue(), epochs) == NOTHING_COPIED
    assert copied(catalogue(one), epochs) == 9
    # The segment of epoch 1 reaches further than epoch 1 does in this log, where its end was
    # truncated.
    assert copied(catalogue(one, two), epochs) == 14
    assert copied(catalogue(one, two, three), epochs) == 24
    assert copied(catalogue(three), epochs, local_start=17) == 24


def test_offsets_below_the_local_log_count_as_copied_when_the_copy_reaches_it() -> None:
    made = catalogue(segment(1, 0, 9), segment(2, 10, 19))
    assert copied(made, {0: 0}, local_start=20) == 19
    assert copied(made, {0: 0}, local_start=25) == NOTHING_COPIED
    assert copied(made, {0: 0}, local_start=15) == 19


def test_segments_that_were_copied_and_deleted_again_are_not_remote() -> None:
    """Remote storage was turned off for the topic and on again: the local records were remote once,
    and must be copied again before they are deleted locally."""
    made = catalogue(segment(1, 0, 9), segment(2, 10, 19))
    for number in (1, 2):
        made.apply(update(number, DELETING))
        made.apply(update(number, DELETED))
    assert copied(made, {0: 0}, local_start=5) == NOTHING_COPIED
    assert made.highest_offset(0) == 19


def test_the_copied_offset_ends_at_a_hole() -> None:
    assert copied(catalogue(segment(1, 0, 9), segment(3, 20, 24)), {0: 0}) == 9


def test_the_log_begins_where_the_first_remote_segment_does() -> None:
    made = catalogue(segment(2, 10, 19, {1: 10}), segment(3, 20, 29, {1: 20}))
    assert earliest_remote_offset(made, lineage({1: 5})) == 10
    assert earliest_remote_offset(made, lineage({2: 5})) is None
    made.apply(update(2, DELETING))
    made.apply(segment(1, 0, 9, {1: 0}))
    assert earliest_remote_offset(made, lineage({1: 0})) == 20


def test_a_segment_belongs_to_a_log_with_the_same_epochs() -> None:
    epochs = lineage({5: 10, 7: 15, 9: 100})
    assert is_within(segment(1, 5, 50, {5: 5, 7: 15}), epochs, 200)
    assert is_within(segment(1, 14, 150, {5: 14, 7: 15, 9: 100}), lineage({7: 51, 9: 100}), 200)
    assert not is_within(segment(1, 5, 50, {5: 5, 7: 16}), epochs, 200)
    assert not is_within(segment(1, 5, 50, {5: 5, 6: 15}), epochs, 200)
    assert not is_within(segment(1, 20, 120, {7: 20}), epochs, 200)
    assert not is_within(segment(1, 5, 50, {5: 5, 7: 15}), epochs, 50)
    assert not is_within(segment(1, 5, 50, {5: 5}), [], 200)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_a_chain_answers_as_its_catalogue(seed: int) -> None:
    made = RemoteCatalogue()
    chance = Random(seed)
    for event in random_events(chance, 40):
        made.apply(event)
    starts = sorted(chance.sample(range(100), 4))
    epochs = [EpochStart(*each) for each in zip(sorted(chance.sample(range(6), 4)), starts, strict=True)]
    end = starts[-1] + 50
    chain = build_chain(made, epochs, end)
    for offset in range(160):
        epoch = next((entry.epoch for entry in reversed(epochs) if entry.start_offset <= offset < end), None)
        expected = None if epoch is None else made.segment_for(epoch, offset)
        link = chain.holding(offset)
        assert (link.segment if link else None) == expected
