"""The metadata of one remote segment, and the changes to it: the nouns of
``__remote_log_metadata``.

All are values. Offsets are those of the local segment when it was copied: ``end_offset`` is the
last offset *in* the segment's range (one below the next segment's base offset), so ranges of
neighbours touch and never overlap, even if there are gaps inside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import TopicPartition, Uuid, uuid_text
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.segment_state import PartitionDeleteState, SegmentState

INT32_MAX = 2**31 - 1


class RemotePartition(NamedTuple):
    """A partition by topic id and name: a topic that was deleted and created again is another
    one."""

    topic_id: Uuid
    topic: str
    partition: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{uuid_text(self.topic_id)}:{self.topic}-{self.partition}"


class RemoteSegmentId(NamedTuple):
    """One attempt to copy a segment. Every attempt has a uuid of its own, so that none can
    overwrite the objects of another."""

    partition: RemotePartition
    uuid: Uuid

    def __str__(self) -> str:
        return f"{self.partition}/{uuid_text(self.uuid)}"


@dataclass(frozen=True, slots=True)
class RemoteSegmentMetadata:
    """A segment in the remote store. Raises ``ValueError`` for impossible values, because metadata
    also comes from other brokers."""

    id: RemoteSegmentId
    start_offset: int
    end_offset: int
    """Inclusive."""
    leader_epochs: tuple[EpochStart, ...]
    """Ascending; the first starts at the segment's start offset."""
    size_bytes: int
    """The size of the ``.log`` object."""
    max_timestamp: int
    broker_id: int
    event_timestamp: int
    state: SegmentState = SegmentState.COPY_SEGMENT_STARTED
    custom_metadata: bytes | None = None
    txn_index_empty: bool = False
    """False also means "unknown": Kafka before 3.9 never writes True."""

    def __post_init__(self) -> None:
        if not 0 <= self.start_offset <= self.end_offset:
            raise ValueError(f"remote segment {self.id} spans offsets {self.start_offset} to {self.end_offset}, which is not a range")
        if not 0 <= self.size_bytes <= INT32_MAX:
            raise ValueError(f"remote segment {self.id} has {self.size_bytes} bytes")
        if not self.leader_epochs:
            raise ValueError(f"remote segment {self.id} has no leader epochs")
        for one, next_one in zip(self.leader_epochs, self.leader_epochs[1:], strict=False):
            if one.epoch >= next_one.epoch or one.start_offset > next_one.start_offset:
                raise ValueError(f"remote segment {self.id} has leader epochs {one} and {next_one} in this order")

    def epoch_end_offset(self, epoch: int) -> int:
        """The last offset of ``epoch`` inside this segment, which must be one of its epochs."""
        for entry in self.leader_epochs:
            if entry.epoch > epoch:
                return entry.start_offset - 1
        return self.end_offset

    def updated(self, update: RemoteSegmentUpdate) -> RemoteSegmentMetadata:
        return replace(
            self,
            broker_id=update.broker_id,
            event_timestamp=update.event_timestamp,
            state=update.state,
            custom_metadata=update.custom_metadata,
        )


@dataclass(frozen=True, slots=True)
class RemoteSegmentUpdate:
    """The next state of a remote segment."""

    id: RemoteSegmentId
    state: SegmentState
    broker_id: int
    event_timestamp: int
    custom_metadata: bytes | None = None

    @property
    def partition(self) -> RemotePartition:
        return self.id.partition


@dataclass(frozen=True, slots=True)
class RemotePartitionDelete:
    """The progress of the deletion of everything that a partition has in the remote store."""

    partition: RemotePartition
    state: PartitionDeleteState
    broker_id: int
    event_timestamp: int
