"""Names of objects in the remote store::

    <cluster id>/<topic>-<topic id>/<partition>/<20 digits start offset>-<segment uuid>.<kind>

where kind is log, index, timeindex, txnindex, snapshot or leader-epoch-checkpoint.

Kafka leaves names to its plugins, so these are ours: several clusters may share a bucket, a listing
of a partition is in the order of its offsets, and everything of a topic lies under one prefix that
another topic of the same name does not share.
"""

from __future__ import annotations

from enum import StrEnum

from barnabas.model.ids import uuid_text
from barnabas.storage.file_names import (
    INDEX_SUFFIX,
    LEADER_EPOCHS,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
)
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemoteSegmentMetadata


class ObjectKind(StrEnum):
    LOG = LOG_SUFFIX
    INDEX = INDEX_SUFFIX
    TIME_INDEX = TIME_INDEX_SUFFIX
    TRANSACTION_INDEX = TRANSACTION_INDEX_SUFFIX
    SNAPSHOT = SNAPSHOT_SUFFIX
    LEADER_EPOCHS = "." + LEADER_EPOCHS


class ObjectNames:
    """The names of one cluster."""

    __slots__ = ("cluster_id",)

    def __init__(self, cluster_id: str) -> None:
        self.cluster_id = cluster_id

    def topic_prefix(self, partition: RemotePartition) -> str:
        return f"{self.cluster_id}/{partition.topic}-{uuid_text(partition.topic_id)}/"

    def partition_prefix(self, partition: RemotePartition) -> str:
        return f"{self.topic_prefix(partition)}{partition.partition}/"

    def name(self, segment: RemoteSegmentMetadata, kind: ObjectKind) -> str:
        stem = f"{offset_name(segment.start_offset)}-{uuid_text(segment.id.uuid)}"
        return f"{self.partition_prefix(segment.id.partition)}{stem}{kind.value}"

    def all_of(self, segment: RemoteSegmentMetadata) -> list[str]:
        """All objects of a segment, the log last: while it exists, a listing shows that something
        is left to delete."""
        return [self.name(segment, kind) for kind in (*(kind for kind in ObjectKind if kind is not ObjectKind.LOG), ObjectKind.LOG)]
