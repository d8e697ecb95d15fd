"""Control batches: markers of transactions and records of the quorum."""

from __future__ import annotations

import struct

import pytest

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT, read_header
from barnabas.records.control_batch import (
    ControlType,
    build_control_batch,
    build_end_transaction,
    control_key,
    read_control_type,
    read_end_transaction,
)
from barnabas.records.record import Record, open_batch
from tests.unit.records.made import NOW_MS


@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_a_marker_holds_the_outcome_of_its_transaction(kind: ControlType) -> None:
    batch = build_end_transaction(kind, coordinator_epoch=12, producer_id=7, producer_epoch=3, timestamp=NOW_MS)
    header = read_header(batch)
    assert header.attributes == TRANSACTIONAL_BIT | CONTROL_BIT
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.record_count) == (7, 3, -1, 1)
    assert read_end_transaction(batch) == (kind, 12)
    (record,) = open_batch(batch)
    assert record == Record(0, NOW_MS, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 12))


def test_other_control_batches_are_not_markers() -> None:
    batch = build_control_batch([(ControlType.LEADER_CHANGE, b"who")], base_offset=40, timestamp=NOW_MS, leader_epoch=5)
    assert read_end_transaction(batch) is None
    assert read_header(batch).attributes == CONTROL_BIT
    assert read_header(batch).leader_epoch == 5


def test_the_quorums_records_keep_their_order_and_types() -> None:
    kinds = [(ControlType.SNAPSHOT_HEADER, b"1"), (ControlType.KRAFT_VERSION, b"2"), (ControlType.KRAFT_VOTERS, b"3")]
    batch = build_control_batch(kinds, base_offset=9, timestamp=NOW_MS, leader_epoch=1)
    opened = list(open_batch(batch))
    assert [(read_control_type(record), record.value) for record in opened] == kinds
    assert [record.offset for record in opened] == [9, 10, 11]


def test_an_unknown_control_type_is_a_number_and_not_an_error() -> None:
    assert read_control_type(Record(0, 0, struct.pack(">hh", 0, 99), b"")) == 99
    batch = build_batch([Record(0, 0, struct.pack(">hh", 0, 99), b"")], control=True, producer_id=1, producer_epoch=0)
    assert read_end_transaction(batch) is None


@pytest.mark.parametrize("key", [None, b"", control_key(ControlType.COMMIT)[:3]])
def test_a_control_record_without_a_type_is_refused(key: bytes | None) -> None:
    with pytest.raises(ValueError, match="type"):
        read_control_type(Record(0, 0, key, b""))


def test_a_marker_that_compaction_emptied_has_no_outcome() -> None:
    assert read_end_transaction(build_batch([], control=True, transactional=True, producer_id=1, producer_epoch=0)) is None
