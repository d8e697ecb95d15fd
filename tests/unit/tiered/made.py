"""Remote segments and streams of events, made up."""

from __future__ import annotations

from random import Random

from barnabas.model.ids import Uuid
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemoteSegmentId, RemoteSegmentMetadata, RemoteSegmentUpdate
from barnabas.tiered.metadata.segment_state import SegmentState

PARTITION = RemotePartition(Uuid(b"topic-id-16bytes"), "topic", 0)
NOW_MS = 1_700_000_000_000
STARTED, FINISHED = SegmentState.COPY_SEGMENT_STARTED, SegmentState.COPY_SEGMENT_FINISHED
DELETING, DELETED = SegmentState.DELETE_SEGMENT_STARTED, SegmentState.DELETE_SEGMENT_FINISHED


def segment_id(number: int) -> RemoteSegmentId:
    return RemoteSegmentId(PARTITION, Uuid(number.to_bytes(16, "big")))


def segment(
    number: int,
    start: int,
    end: int,
    epochs: dict[int, int] | None = None,
    *,
    size: int = 100,
    max_timestamp: int = NOW_MS,
    event_timestamp: int = NOW_MS,
    txn_index_empty: bool = True,
) -> RemoteSegmentMetadata:
    """``epochs`` are leader epochs and their start offsets; epoch 0 unless given."""
    return RemoteSegmentMetadata(
        segment_id(number),
        start_offset=start,
        end_offset=end,
        leader_epochs=tuple(EpochStart(epoch, offset) for epoch, offset in (epochs or {0: start}).items()),
        size_bytes=size,
        max_timestamp=max_timestamp,
        broker_id=1,
        event_timestamp=event_timestamp,
        txn_index_empty=txn_index_empty,
    )


def update(number: int, state: SegmentState) -> RemoteSegmentUpdate:
    return RemoteSegmentUpdate(segment_id(number), state, broker_id=1, event_timestamp=NOW_MS)


def catalogue(*finished: RemoteSegmentMetadata) -> RemoteCatalogue:
    """With these segments, all copied."""
    made = RemoteCatalogue()
    for each in finished:
        assert made.apply(each) is None
        assert made.apply(RemoteSegmentUpdate(each.id, FINISHED, broker_id=1, event_timestamp=NOW_MS)) is None
    return made


def lineage(epochs: dict[int, int]) -> list[EpochStart]:
    return [EpochStart(epoch, start) for epoch, start in epochs.items()]


def random_events(chance: Random, count: int) -> list[RemoteSegmentMetadata | RemoteSegmentUpdate]:
    """Events that several leaders may have written, each with its own segment boundaries; some of
    them twice or out of order."""
    events: list[RemoteSegmentMetadata | RemoteSegmentUpdate] = []
    known = 0
    for _ in range(count):
        if not known or chance.random() < 0.4:
            known += 1
            start = chance.randrange(100)
            end = start + chance.randrange(40)
            first = chance.randrange(3)
            epochs = {first: start}
            if end > start and chance.random() < 0.4:
                epochs[first + 1 + chance.randrange(2)] = chance.randrange(start + 1, end + 1)
            events.append(segment(known, start, end, epochs))
        else:
            events.append(update(1 + chance.randrange(known), chance.choice([FINISHED, FINISHED, FINISHED, DELETING, DELETED])))
        if chance.random() < 0.1:
            events.append(chance.choice(events))
    return events
