"""Leader epochs and their start offsets."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.storage.file_names import LEADER_EPOCHS
from barnabas.storage.leader_epochs import EpochStart, LeaderEpochs
from tests.unit.records.made import repeatable
from tests.unit.storage.logs import DIRECTORY, new_disk, write_file

KNOWN = [EpochStart(0, 0), EpochStart(3, 100), EpochStart(7, 150)]


def known() -> LeaderEpochs:
    epochs = LeaderEpochs(new_disk(), DIRECTORY)
    for epoch, start in KNOWN:
        epochs.assign(epoch, start)
    return epochs


def test_saving_writes_kafkas_file() -> None:
    disk = new_disk()
    epochs = LeaderEpochs(disk, DIRECTORY)
    epochs.assign(0, 0)
    assert not disk.exists(f"{DIRECTORY}/{LEADER_EPOCHS}")
    epochs.save()
    epochs.assign(3, 100)
    epochs.save()
    assert not epochs.unsaved
    assert disk.read(f"{DIRECTORY}/{LEADER_EPOCHS}") == b"0\n2\n0 0\n3 100\n"
    assert LeaderEpochs.load(disk, DIRECTORY).entries == epochs.entries
    # Durable, not only written: an older file must not appear in its place.
    assert LeaderEpochs.load(disk.crash(), DIRECTORY).entries == epochs.entries


def test_assigning_a_known_epoch_changes_nothing() -> None:
    epochs = known()
    for epoch, start in [(7, 150), (7, 999), (5, 120), (0, 0), (-1, 0)]:
        epochs.assign(epoch, start)
        assert epochs.entries == KNOWN


def test_an_epoch_without_records_disappears() -> None:
    epochs = known()
    epochs.assign(9, 150)
    assert epochs.entries == [EpochStart(0, 0), EpochStart(3, 100), EpochStart(9, 150)]


@pytest.mark.parametrize(("offset", "epoch"), [(-1, -1), (0, 0), (99, 0), (100, 3), (149, 3), (150, 7), (10**9, 7)])
def test_an_offset_belongs_to_the_epoch_that_spans_it(offset: int, epoch: int) -> None:
    assert known().epoch_at(offset) == epoch


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),  # no epoch has no end
        (0, (0, 100)),
        (1, (0, 100)),  # unknown here: the largest below it, and its end
        (2, (0, 100)),
        (3, (3, 150)),
        (6, (3, 150)),
        (7, (7, 200)),  # the latest ends at the log end
        (8, (-1, -1)),  # newer than all known ones: unknown
    ],
)
def test_the_end_offset_of_an_epoch_follows_kafkas_rules(asked: int, answer: tuple[int, int]) -> None:
    assert known().end_offset_for(asked, log_end_offset=200) == answer


def test_an_epoch_older_than_all_known_ends_where_the_first_known_begins() -> None:
    epochs = known()
    epochs.truncate_start(120)
    assert epochs.end_offset_for(1, log_end_offset=200) == (1, 120)


def test_without_epochs_no_end_offset_is_known() -> None:
    empty = LeaderEpochs(new_disk(), DIRECTORY)
    assert empty.latest == -1
    assert empty.end_offset_for(0, log_end_offset=5) == (-1, -1)
    assert empty.epoch_at(0) == -1


@pytest.mark.parametrize(("offset", "kept"), [(0, 0), (1, 1), (100, 1), (101, 2), (150, 2), (151, 3), (999, 3)])
def test_truncating_the_end_drops_epochs_that_begin_there(offset: int, kept: int) -> None:
    epochs = known()
    epochs.truncate_end(offset)
    assert epochs.entries == KNOWN[:kept]


@pytest.mark.parametrize(
    ("offset", "entries"),
    [
        (0, [(0, 0), (3, 100), (7, 150)]),
        (50, [(0, 50), (3, 100), (7, 150)]),
        (100, [(3, 100), (7, 150)]),
        (149, [(3, 149), (7, 150)]),
        (150, [(7, 150)]),
        (500, [(7, 500)]),
    ],
)
def test_truncating_the_start_keeps_the_epoch_that_spans_it(offset: int, entries: list[tuple[int, int]]) -> None:
    epochs = known()
    epochs.truncate_start(offset)
    assert epochs.entries == entries


def test_clearing_epochs_writes_the_file() -> None:
    disk = new_disk()
    epochs = LeaderEpochs(disk, DIRECTORY)
    epochs.assign(4, 10)
    epochs.clear()
    assert LeaderEpochs.load(disk, DIRECTORY).entries == []


@pytest.mark.parametrize("content", [b"", b"0\n1\n", b"0\n1\n3\n", b"0\n1\nx y\n", b"\x00" * 9, b"7\n0\n"])
def test_a_damaged_file_loads_as_no_epochs(content: bytes) -> None:
    disk = new_disk()
    write_file(disk, LEADER_EPOCHS, content)
    assert LeaderEpochs.load(disk, DIRECTORY).entries == []


def test_lines_that_go_back_are_dropped_when_loading() -> None:
    disk = new_disk()
    write_file(disk, LEADER_EPOCHS, b"0\n3\n0 0\n5 100\n4 120\n")
    assert LeaderEpochs.load(disk, DIRECTORY).entries == [(0, 0), (4, 120)]


def test_the_file_moves_with_its_directory() -> None:
    disk = new_disk()
    epochs = LeaderEpochs(disk, DIRECTORY)
    disk.make_directory("/data/elsewhere")
    epochs.moved_to("/data/elsewhere")
    epochs.assign(1, 0)
    epochs.save()
    assert disk.names("/data/elsewhere") == [LEADER_EPOCHS]


@repeatable
@given(st.lists(st.tuples(st.sampled_from(["assign", "end", "start"]), st.integers(0, 12), st.integers(0, 60)), max_size=25))
def test_epochs_and_offsets_always_rise_together(steps: list[tuple[str, int, int]]) -> None:
    disk = new_disk()
    epochs = LeaderEpochs(disk, DIRECTORY)
    for kind, epoch, offset in steps:
        if kind == "assign":
            epochs.assign(epoch, offset)
        elif kind == "end":
            epochs.truncate_end(offset)
        else:
            epochs.truncate_start(offset)
        for before, after in zip(epochs.entries, epochs.entries[1:], strict=False):
            assert before.epoch < after.epoch
            assert before.start_offset < after.start_offset
    epochs.save()
    assert LeaderEpochs.load(disk, DIRECTORY).entries == epochs.entries


def test_closing_does_not_save_an_epoch_without_records() -> None:
    disk = new_disk()
    epochs = LeaderEpochs(disk, DIRECTORY)
    epochs.assign(4, 0)
    epochs.save_at_close(log_end_offset=0)
    assert not disk.exists(f"{DIRECTORY}/{LEADER_EPOCHS}")


def test_closing_saves_an_epoch_with_batches_also_behind_a_leader_that_wrote_nothing() -> None:
    """As after recovery, which reads epochs from batches and saves nothing."""
    disk = new_disk()
    epochs = LeaderEpochs(disk, DIRECTORY)
    epochs.assign(1, 0)
    epochs.save()
    epochs.assign(2, 50)
    epochs.assign(3, 100)
    epochs.save_at_close(log_end_offset=100)
    assert LeaderEpochs.load(disk, DIRECTORY).entries == [EpochStart(1, 0), EpochStart(2, 50), EpochStart(3, 100)]
