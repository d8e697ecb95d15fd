"""We write the same bytes into ``__remote_log_metadata`` as Kafka, in the partition where Kafka
looks for them, and with the same meaning.

One JVM answers everything: Kafka's serde for bytes, its partitioner, its cache of remote segments
replaying the same events, and its check whether a segment belongs to a log's history.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from barnabas.model.ids import Uuid, uuid_text
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.chain import is_within
from barnabas.tiered.metadata.events import RemoteLogEvent, decode_event, encode_event, metadata_partition
from barnabas.tiered.metadata.segment_metadata import (
    RemotePartition,
    RemotePartitionDelete,
    RemoteSegmentId,
    RemoteSegmentMetadata,
    RemoteSegmentUpdate,
)
from barnabas.tiered.metadata.segment_state import PartitionDeleteState, SegmentState
from barnabas.wire.remote_log_records import (
    RemoteLogSegmentMetadataSnapshotRecord,
    decode_remote_log_record,
    encode_remote_log_record,
)
from peers.apache_kafka import java_program, why_missing
from tests.unit.tiered.made import random_events, segment
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

EVENTS, REPLAYS, HISTORIES = 200, 60, 400
EPOCHS = range(6)
Question = dict[str, Any]


def events() -> list[RemoteLogEvent]:
    chance = Random(7)
    made: list[RemoteLogEvent] = []
    for _ in range(EVENTS):
        partition = RemotePartition(
            Uuid(chance.randbytes(16)), chance.choice(["orders", "x", "a.b_c-d", "t" * 249]), chance.randrange(2**31)
        )
        segment_id = RemoteSegmentId(partition, Uuid(chance.randbytes(16)))
        custom = chance.choice([None, b"", chance.randbytes(128)])
        broker, now_ms = chance.randrange(2**31), chance.randrange(2**62)
        state = chance.choice(list(SegmentState))
        start = chance.randrange(2**40)
        epochs = sorted({(chance.randrange(2**31), start + chance.randrange(10**6)) for _ in range(chance.choice([1, 2, 5]))})
        rising = [(epoch, start + index) for index, (epoch, _) in enumerate(epochs)]
        made.append(
            RemoteSegmentMetadata(
                segment_id,
                start_offset=start,
                end_offset=start + 10**6,
                leader_epochs=tuple(EpochStart(*each) for each in rising),
                size_bytes=chance.randrange(2**31),
                max_timestamp=chance.randrange(-1, 2**62),
                broker_id=broker,
                event_timestamp=now_ms,
                state=state,
                custom_metadata=custom,
                txn_index_empty=chance.random() < 0.5,
            )
        )
        made.append(RemoteSegmentUpdate(segment_id, state, broker_id=broker, event_timestamp=now_ms, custom_metadata=custom))
        made.append(RemotePartitionDelete(partition, chance.choice(list(PartitionDeleteState)), broker_id=broker, event_timestamp=now_ms))
    return made


def question(event: RemoteLogEvent) -> Question:
    partition = event.partition if not isinstance(event, RemoteSegmentMetadata) else event.id.partition
    asked: Question = {
        "topicId": uuid_text(partition.topic_id),
        "topic": partition.topic,
        "partition": partition.partition,
        "broker": event.broker_id,
        "eventTimestamp": event.event_timestamp,
        "state": int(event.state),
    }
    if isinstance(event, RemotePartitionDelete):
        return asked | {"kind": "delete"}
    custom = None if event.custom_metadata is None else event.custom_metadata.hex()
    asked |= {"kind": "update", "uuid": uuid_text(event.id.uuid), "custom": custom}
    if isinstance(event, RemoteSegmentMetadata):
        asked |= {
            "kind": "segment",
            "start": event.start_offset,
            "end": event.end_offset,
            "maxTimestamp": event.max_timestamp,
            "size": event.size_bytes,
            "epochs": [list(each) for each in event.leader_epochs],
            "txnEmpty": event.txn_index_empty,
        }
    return asked


def replays() -> list[list[RemoteSegmentMetadata | RemoteSegmentUpdate]]:
    """Event streams without repetitions: when Kafka reads again that a segment was copied that a
    larger one has replaced, it lets the segment replace the larger one in turn, and loses the
    offsets that only the larger one holds. We ignore the repetition."""
    return [list({(each.id, each.state): each for each in random_events(Random(seed), 40)}.values()) for seed in range(REPLAYS)]


def histories() -> list[tuple[RemoteSegmentMetadata, list[EpochStart], int]]:
    """A segment, and a log whose epochs mostly equal those of the segment."""
    chance = Random(11)
    made = []
    for _ in range(HISTORIES):
        starts = sorted(chance.sample(range(50), 4))
        epochs = sorted(chance.sample(range(6), 4))
        log = [EpochStart(*each) for each in zip(epochs, starts, strict=True)][chance.randrange(3) :]
        theirs = {epoch: max(0, start + chance.choice([0, 0, 0, 0, 1, -1])) for epoch, start in zip(epochs, starts, strict=True)}
        kept = dict(list(theirs.items())[chance.randrange(3) :][: chance.choice([1, 2, 3])])
        values = sorted(kept.values())
        kept = dict(zip(kept, values, strict=True))
        end = values[-1] + chance.randrange(12)
        made.append((segment(1, values[0], end, kept), log, chance.choice([end, end + 1, 60, 70])))
    return made


ASKED = [(epoch, offset) for epoch in EPOCHS for offset in range(0, 150, 3)]


@cache
def answers() -> dict[str, list[Any]]:
    """All questions, asked at once."""
    asked: dict[str, list[Question]] = {
        "encode": [{"do": "encode", **question(each)} for each in events()],
        "rewrite": [{"do": "rewrite", "bytes": encode_event(each).hex()} for each in events()],
        "snapshot": [{"do": "snapshot", **question(each)} for each in events() if isinstance(each, RemoteSegmentMetadata)],
        "partition": [{"do": "partition", "count": count, **question(each)} for each in events()[::3] for count in (1, 7, 50)],
        "replay": [
            {"do": "replay", "events": [encode_event(each).hex() for each in replay], "asked": ASKED, "epochs": list(EPOCHS)}
            for replay in replays()
        ],
        "within": [
            {"do": "within", "bytes": encode_event(each).hex(), "end": end, "epochs": [list(entry) for entry in log]}
            for each, log, end in histories()
        ],
    }
    flat = [each for questions in asked.values() for each in questions]
    program = Path(__file__).with_name("RemoteLogOracle.java")
    done = subprocess.run(
        java_program(program), input=json.dumps(flat), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rest = iter(json.loads(done.stdout))
    return {what: [next(rest) for _ in questions] for what, questions in asked.items()}


def test_kafka_writes_our_bytes_and_reads_them() -> None:
    ours = [encode_event(each).hex() for each in events()]
    assert ours == answers()["encode"]
    assert ours == answers()["rewrite"]
    assert [decode_event(bytes.fromhex(each)) for each in answers()["encode"]] == events()


def test_records_of_kafkas_snapshots_are_read_and_written() -> None:
    for theirs in answers()["snapshot"]:
        record = decode_remote_log_record(bytes.fromhex(theirs))
        assert isinstance(record, RemoteLogSegmentMetadataSnapshotRecord)
        assert encode_remote_log_record(record).hex() == theirs


def test_events_of_a_partition_are_in_the_metadata_partition_that_kafka_reads() -> None:
    assert answers()["partition"] == [
        metadata_partition(each.id.partition, count) for each in events() if isinstance(each, RemoteSegmentMetadata) for count in (1, 7, 50)
    ]


def test_the_same_events_make_the_same_catalogue() -> None:
    for replay, theirs in zip(replays(), answers()["replay"], strict=True):
        catalogue = RemoteCatalogue()
        for event in replay:
            catalogue.apply(event)
        found = [catalogue.segment_for(epoch, offset) for epoch, offset in ASKED]
        assert [None if each is None else uuid_text(each.id.uuid) for each in found] == theirs["found"]
        assert [catalogue.highest_offset(epoch) for epoch in EPOCHS] == theirs["highest"]


def test_a_segment_belongs_to_the_same_log_as_in_kafka() -> None:
    ours = [is_within(each, log, end) for each, log, end in histories()]
    assert ours == answers()["within"]
    assert {True, False} == set(ours)
