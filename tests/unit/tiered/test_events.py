"""Events of ``__remote_log_metadata``: their bytes, and the bytes that are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from barnabas.model.ids import Uuid
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.events import RemoteLogEvent, decode_event, encode_event, metadata_partition, partition_of
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemotePartitionDelete
from barnabas.tiered.metadata.segment_state import PartitionDeleteState, SegmentState, may_follow
from barnabas.wire.remote_log_records import RemoteLogSegmentMetadataSnapshotRecord, encode_remote_log_record
from barnabas.wire.tagged_fields import MalformedMessage
from tests.unit.tiered.made import DELETED, DELETING, FINISHED, NOW_MS, PARTITION, STARTED, segment, update

# The bytes that Kafka's RemoteLogMetadataSerde writes for these events;
# tests/conformance/remote_log asks it for many more.
GOLDEN: list[tuple[RemoteLogEvent, str]] = [
    (
        replace(segment(7, 10, 29, {3: 10, 5: 20}, size=4096), custom_metadata=b"\x01\x02"),
        (
            "01000006746f706963746f7069632d69642d3136627974657300000000000000000000000000000000000000000700000000000000000a"
            "000000000000001d000000010000018bcfe568000000018bcfe568000300000003000000000000000a00000000050000000000000014"
            "00000010000301020001000101"
        ),
    ),
    (
        update(7, FINISHED),
        "01010006746f706963746f7069632d69642d3136627974657300000000000000000000000000000000000000000700000000010000018bcfe56800000100",
    ),
    (
        RemotePartitionDelete(PARTITION, PartitionDeleteState.DELETE_PARTITION_MARKED, broker_id=3, event_timestamp=NOW_MS),
        "01020006746f706963746f7069632d69642d313662797465730000000000000000030000018bcfe568000000",
    ),
]


@pytest.mark.parametrize(("event", "golden"), GOLDEN, ids=lambda each: type(each).__name__)
def test_the_bytes_are_kafkas(event: RemoteLogEvent, golden: str) -> None:
    assert encode_event(event).hex() == golden
    assert decode_event(bytes.fromhex(golden)) == event


def every_kind() -> list[RemoteLogEvent]:
    return [
        segment(1, 0, 99, {0: 0, 4: 50}, txn_index_empty=False),
        replace(segment(2, 100, 100), custom_metadata=b"", state=DELETING),
        update(1, FINISHED),
        RemotePartitionDelete(PARTITION, PartitionDeleteState.DELETE_PARTITION_STARTED, broker_id=3, event_timestamp=NOW_MS),
    ]


@pytest.mark.parametrize("event", every_kind(), ids=lambda event: type(event).__name__)
def test_an_event_survives_encoding_and_decoding(event: RemoteLogEvent) -> None:
    assert decode_event(encode_event(event)) == event
    assert partition_of(event) == PARTITION


def test_epochs_may_come_in_any_order() -> None:
    made = segment(1, 0, 99, {0: 0, 4: 50})
    value = bytearray(encode_event(made))
    swapped = segment(1, 0, 99, {0: 0, 4: 50})
    entry = (0).to_bytes(4, "big") + (0).to_bytes(8, "big") + b"\0" + (4).to_bytes(4, "big") + (50).to_bytes(8, "big") + b"\0"
    at = value.index(entry)
    value[at : at + 26] = entry[13:] + entry[:13]
    assert decode_event(bytes(value)) == swapped


@given(st.binary(max_size=200))
def test_random_bytes_are_an_event_or_refused(data: bytes) -> None:
    try:
        decode_event(data)
    except MalformedMessage:
        return


@given(st.integers(0, 3), st.data())
def test_a_changed_byte_is_an_event_or_refused(which: int, data: st.DataObject) -> None:
    value = bytearray(encode_event(every_kind()[which]))
    value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode_event(bytes(value))
    except MalformedMessage:
        return


def test_an_impossible_segment_is_refused() -> None:
    made = segment(1, 10, 19)
    for change in (
        {"start_offset": 20},
        {"start_offset": -1},
        {"size_bytes": -1},
        {"leader_epochs": ()},
        {"leader_epochs": (EpochStart(2, 10), EpochStart(1, 12))},
        {"leader_epochs": (EpochStart(1, 12), EpochStart(2, 10))},
    ):
        with pytest.raises(ValueError, match="remote segment"):
            replace(made, **change)


def test_a_snapshot_record_is_not_an_event() -> None:
    record = RemoteLogSegmentMetadataSnapshotRecord(
        segment_id=Uuid(bytes(16)),
        start_offset=0,
        end_offset=1,
        broker_id=1,
        max_timestamp_ms=0,
        event_timestamp_ms=0,
        segment_leader_epochs=[],
        segment_size_in_bytes=0,
        remote_log_segment_state=0,
    )
    with pytest.raises(MalformedMessage, match="snapshot"):
        decode_event(encode_remote_log_record(record))


def test_the_metadata_partition_depends_on_topic_id_and_partition_only() -> None:
    one = RemotePartition(Uuid(bytes(range(16))), "a", 3)
    assert metadata_partition(one, 50) == metadata_partition(one._replace(topic="b"), 50) == 36
    assert {metadata_partition(one._replace(partition=number), 50) for number in range(1000)} == set(range(50))


def test_states_follow_each_other_in_one_direction() -> None:
    allowed = {(one, other) for one in (None, *SegmentState) for other in SegmentState if may_follow(one, other) and one is not other}
    assert allowed == {(None, STARTED), (STARTED, FINISHED), (STARTED, DELETING), (FINISHED, DELETING), (DELETING, DELETED)}
    assert all(may_follow(state, state) for state in SegmentState)
