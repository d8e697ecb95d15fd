"""Committed batches become images; records between Begin and End take effect together, or not at
all.
"""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.metadata.loader import Loader
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.wire.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    NoOpRecord,
    RemoveTopicRecord,
)
from tests.unit.metadata.made import after, histories, topic, uuid
from tests.unit.records.made import repeatable

BEGIN, END, ABORT = BeginTransactionRecord(name="test"), EndTransactionRecord(), AbortTransactionRecord(reason="test")
A, B = topic(1, "a", [1]), topic(2, "b", [1])


def at(offset: int) -> Provenance:
    return Provenance(offset, 1, 1000 + offset)


def names(image: MetadataImage) -> set[str]:
    return set(image.topics.by_name)


def test_a_batch_is_a_delta_and_an_image_that_knows_where_it_comes_from() -> None:
    loader = Loader()
    loaded = loader.load(A, at(4))
    assert loaded is not None
    delta, image = loaded
    assert (names(image), image.provenance) == ({"a"}, at(4))
    assert image is loader.image
    assert delta.image == MetadataImage()


def test_a_control_batch_has_no_records_but_moves_the_offset_on() -> None:
    loader = Loader()
    loader.load(A, at(4))
    loaded = loader.load([], at(5))
    assert loaded is not None
    assert loaded[1].provenance == at(5)
    assert loaded[1].topics is loader.image.topics


def test_batches_are_loaded_once_and_in_order() -> None:
    loader = Loader()
    loader.load(A, at(4))
    for offset in (4, 3):
        with pytest.raises(AssertionError, match="once and in order"):
            loader.load(B, at(offset))


def test_a_transaction_in_one_batch() -> None:
    loaded = Loader().load([BEGIN, *A, END], at(3))
    assert loaded is not None
    assert names(loaded[1]) == {"a"}


def test_a_transaction_over_several_batches_is_seen_when_it_ends_and_not_before() -> None:
    loader = Loader()
    assert loader.load([BEGIN, *A], at(3)) is None
    assert loader.in_transaction
    assert names(loader.image) == set()
    assert loader.load(B, at(5)) is None
    assert loader.load([NoOpRecord()], at(6)) is None
    loaded = loader.load([END], at(7))
    assert loaded is not None
    delta, image = loaded
    assert (names(image), image.provenance) == ({"a", "b"}, at(7))
    assert {each.name for each, _ in delta.topics.changed_partitions()} == {"a", "b"}
    assert not loader.in_transaction


def test_an_aborted_transaction_never_happened() -> None:
    loader = Loader()
    loader.load(A, at(1))
    assert loader.load([BEGIN, *B, RemoveTopicRecord(topic_id=uuid(1))], at(5)) is None
    loaded = loader.load([ABORT], at(6))
    assert loaded is not None
    assert names(loaded[1]) == {"a"}
    assert list(loaded[0].topics.changed_partitions()) == []


def test_records_around_a_transaction_are_not_part_of_it() -> None:
    loader = Loader()
    assert loader.load([*A, BEGIN, *B], at(4)) is None
    loaded = loader.load([ABORT, *topic(3, "c", [1])], at(7))
    assert loaded is not None
    delta, image = loaded
    assert names(image) == {"a", "c"}
    assert {each.name for each, _ in delta.topics.changed_partitions()} == {"a", "c"}


def test_several_transactions_in_one_batch() -> None:
    loaded = Loader().load([BEGIN, *A, END, BEGIN, *B, ABORT, BEGIN, *topic(3, "c", [1]), END], at(9))
    assert loaded is not None
    assert names(loaded[1]) == {"a", "c"}


def test_transactions_do_not_nest_and_none_ends_without_a_beginning() -> None:
    with pytest.raises(AssertionError, match="do not nest"):
        Loader().load([BEGIN, BEGIN], at(1))
    with pytest.raises(AssertionError, match="never began"):
        Loader().load([END], at(1))


def test_a_snapshot_replaces_everything_also_a_transaction_that_was_open() -> None:
    loader = Loader()
    loader.load(A, at(1))
    loader.load([BEGIN, *topic(3, "c", [1])], at(3))
    delta, image = loader.load_snapshot(B, at(9))
    assert (names(image), image.provenance) == ({"b"}, at(9))
    assert delta.image == MetadataImage()
    assert not loader.in_transaction
    loaded = loader.load(topic(4, "d", [1]), at(11))
    assert loaded is not None
    assert names(loaded[1]) == {"b", "d"}


@repeatable
@given(histories(), st.lists(st.integers(1, 9), max_size=30), st.booleans())
def test_however_a_history_is_cut_into_batches_the_image_is_the_same(history: list[MetadataRecord], sizes: list[int], framed: bool) -> None:
    written: list[MetadataRecord] = [BEGIN, *history, END] if framed else list(history)
    loader = Loader()
    position = 0
    for size in [*sizes, len(written)]:
        batch = written[position : position + size]
        position += size
        if batch:
            loaded = loader.load(batch, at(position))
            assert (loaded is None) == loader.in_transaction
    assert list(loader.image.records()) == list(after(history).records())
