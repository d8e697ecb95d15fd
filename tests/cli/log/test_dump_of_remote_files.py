"""``log dump`` of the files of tiered storage: its metadata topic, its cache of indexes, and a
remote store on a file system.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from barnabas.model.ids import Uuid, uuid_text
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.producer_snapshot import encode_snapshot
from barnabas.storage.producer_state import Producer
from barnabas.tiered.metadata.events import RemoteLogEvent, encode_event
from barnabas.tiered.metadata.segment_metadata import (
    RemotePartition,
    RemotePartitionDelete,
    RemoteSegmentId,
    RemoteSegmentMetadata,
    RemoteSegmentUpdate,
)
from barnabas.tiered.metadata.segment_state import PartitionDeleteState, SegmentState
from tests.cli.running import Cli

SEGMENT = "00000000000000000000.log"
PARTITION = RemotePartition(Uuid(b"t" * 16), "orders", 3)
SEGMENT_ID = RemoteSegmentId(PARTITION, Uuid(b"s" * 16))


def write_metadata(directory: Path) -> Path:
    """A partition of ``__remote_log_metadata`` with the records of one segment from start to
    deletion, and the deletion of its partition."""
    events: list[RemoteLogEvent] = [
        RemoteSegmentMetadata(
            id=SEGMENT_ID,
            start_offset=100,
            end_offset=199,
            max_timestamp=1234,
            broker_id=1,
            event_timestamp=5678,
            size_bytes=4096,
            state=SegmentState.COPY_SEGMENT_STARTED,
            leader_epochs=(EpochStart(0, 100), EpochStart(2, 150)),
            txn_index_empty=True,
        ),
        RemoteSegmentUpdate(SEGMENT_ID, broker_id=1, event_timestamp=5679, state=SegmentState.COPY_SEGMENT_FINISHED),
        RemotePartitionDelete(PARTITION, broker_id=1, event_timestamp=5680, state=PartitionDeleteState.DELETE_PARTITION_MARKED),
    ]
    partition = directory / "__remote_log_metadata-7"
    partition.mkdir()
    records = [Record(offset, 5, None, encode_event(event)) for offset, event in enumerate(events)]
    (partition / SEGMENT).write_bytes(build_batch(records))
    return partition / SEGMENT


def entries(*words: object) -> list[dict[str, Any]]:
    return Cli()("log", "dump", *words, "--json").json_lines


def test_remote_log_metadata_is_shown_with_names(tmp_path: Path) -> None:
    _, copied, finished, deleted = entries(write_metadata(tmp_path).parent)
    assert [each["type"] for each in (copied, finished, deleted)] == [
        "RemoteLogSegmentMetadataRecord",
        "RemoteLogSegmentMetadataUpdateRecord",
        "RemotePartitionDeleteMetadataRecord",
    ]
    fields = copied["fields"]
    assert (fields["start_offset"], fields["end_offset"], fields["segment_size_in_bytes"]) == (100, 199, 4096)
    assert fields["segment_leader_epochs"] == [{"leader_epoch": 0, "offset": 100}, {"leader_epoch": 2, "offset": 150}]
    named = {"name": "orders", "id": uuid_text(PARTITION.topic_id), "partition": 3}
    assert fields["remote_log_segment_id"] == {"topic_id_partition": named, "id": uuid_text(SEGMENT_ID.uuid)}
    assert finished["fields"]["remote_log_segment_state"] == SegmentState.COPY_SEGMENT_FINISHED
    assert deleted["fields"]["topic_id_partition"] == named


def test_the_schema_of_a_copied_remote_metadata_segment_can_be_given_and_garbage_is_damage(tmp_path: Path) -> None:
    copy = tmp_path / SEGMENT
    copy.write_bytes(write_metadata(tmp_path).read_bytes())
    assert len(entries(copy, "--as", "remote-log")) == 4
    for value in (None, b"", b"\x09\x00"):
        copy.write_bytes(build_batch([Record(0, 5, None, value)]))
        assert "is damaged at position 0: " in Cli()("log", "dump", copy, "--as", "remote-log").complaint


def test_cached_indexes_count_from_the_offset_in_their_names(tmp_path: Path) -> None:
    stem = f"100_{uuid_text(SEGMENT_ID.uuid)}"
    (tmp_path / f"{stem}.index").write_bytes(struct.pack(">ii", 5, 900))
    (tmp_path / f"{stem}.timeindex").write_bytes(struct.pack(">qi", 1234, 7))
    (tmp_path / f"{stem}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 5, 101, 103, 104))
    offset, time, aborted = entries(tmp_path)
    assert (offset["offset"], offset["position"]) == (105, 900)
    assert (time["timestamp"], time["offset"]) == (1234, 107)
    assert (aborted["first_offset"], aborted["last_offset"]) == (101, 103)


def test_a_remote_store_on_a_file_system_is_read_like_a_node(tmp_path: Path) -> None:
    stem = f"{100:020d}-{uuid_text(SEGMENT_ID.uuid)}"
    batch = build_batch([Record(100, 5, None, b"v")], base_offset=100)
    for suffix, data in {
        ".log": bytes(batch),
        ".index": struct.pack(">ii", 0, 0),
        ".timeindex": struct.pack(">qi", 5, 0),
        ".snapshot": encode_snapshot([Producer(5, 0)]),
        ".leader-epoch-checkpoint": b"0\n1\n2 100\n",
    }.items():
        (tmp_path / f"{stem}{suffix}").write_bytes(data)
    shown = {each["kind"]: each for each in entries(tmp_path, "--deep")}
    assert shown.keys() == {"batch", "offset", "time", "producer", "leader_epoch"}
    assert (shown["batch"]["base_offset"], shown["offset"]["offset"], shown["leader_epoch"]["start_offset"]) == (100, 100, 100)
