"""Snapshots as bytes: a header, the image's records, a footer; whole, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given

from barnabas.metadata import snapshot
from barnabas.metadata.snapshot import SnapshotDamaged, SnapshotId, decode_snapshot, encode_snapshot, parse_snapshot_name
from barnabas.records.batches import walk
from barnabas.wire.metadata_records import MetadataRecord, NoOpRecord
from tests.unit.metadata.made import after, histories, topic
from tests.unit.records.made import repeatable


def encoded(records: list[MetadataRecord]) -> bytes:
    return b"".join(encode_snapshot(records, epoch=5, last_contained_timestamp=777, timestamp=1000))


@repeatable
@given(histories())
def test_an_image_through_a_snapshot_is_the_same_image(history: list[MetadataRecord]) -> None:
    image = after(history)
    records, last_timestamp = decode_snapshot(encoded(list(image.records())))
    assert after(records) == image
    assert last_timestamp == 777


def test_a_snapshot_file_has_a_header_records_and_a_footer() -> None:
    headers = [header for _, header in walk(encoded(topic(1, "t", [1], [2])))]
    assert [(header.control, header.base_offset, header.record_count, header.leader_epoch) for header in headers] == [
        (True, 0, 1, 5),
        (False, 1, 3, 5),
        (True, 4, 1, 5),
    ]


def test_many_records_are_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "BATCH_RECORDS_MAX", 10)
    data = encoded([NoOpRecord()] * 25)
    assert [header.record_count for _, header in walk(data)] == [1, 10, 10, 5, 1]
    assert len(decode_snapshot(data)[0]) == 25


def test_an_empty_image_has_a_snapshot_too() -> None:
    assert decode_snapshot(encoded([])) == ([], 777)


def test_a_snapshot_cut_anywhere_is_damaged() -> None:
    data = encoded(topic(1, "t", [1]))
    for cut in range(len(data)):
        with pytest.raises(SnapshotDamaged):
            decode_snapshot(data[:cut])


def test_a_snapshot_with_any_bit_of_its_records_flipped_is_damaged() -> None:
    data = encoded(topic(1, "t", [1]))
    # Base offsets and leader epochs stand before the checksum and have no meaning here.
    free = {position + byte for position, _ in walk(data) for byte in (*range(8), *range(12, 16))}
    for position in set(range(len(data))) - free:
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        with pytest.raises(SnapshotDamaged):
            decode_snapshot(flipped)


def test_a_snapshot_without_header_or_footer_is_unfinished() -> None:
    header, records, footer = encode_snapshot(topic(1, "t", [1]), epoch=0, last_contained_timestamp=0, timestamp=0)
    for parts in ([records, footer], [header, records], [records], [header, footer, records], [records, header, footer], [footer, header]):
        with pytest.raises(SnapshotDamaged, match="header and"):
            decode_snapshot(b"".join(parts))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("00000000000000000123-0000000004.checkpoint", SnapshotId(123, 4)),
        ("00000000000000000123-0000000004.checkpoint.part", None),
        ("00000000000000000123-0000000004.checkpoint.deleted", None),
        ("bootstrap.checkpoint", None),
        ("00000000000000000000.log", None),
        ("123-4.checkpoint", None),
    ],
)
def test_names(name: str, found: SnapshotId | None) -> None:
    assert parse_snapshot_name(name) == found
    if found is not None:
        assert found.file_name == name
