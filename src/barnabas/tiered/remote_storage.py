"""The remote store together with its metadata, and the deletion of a remote segment:
DELETE_SEGMENT_STARTED, the objects, DELETE_SEGMENT_FINISHED.

Because of this order no reader is sent to objects that are half deleted, and an interrupted
deletion leaves a segment that the catalogue lists as unfinished.
"""

from __future__ import annotations

from barnabas.env.awaiting import awaited
from barnabas.env.clock import Clock
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.tiered.metadata.events import RemoteLogEvent
from barnabas.tiered.metadata.metadata_topic import MetadataTopic
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata, RemoteSegmentUpdate
from barnabas.tiered.metadata.segment_state import SegmentState
from barnabas.tiered.reading.index_cache import RemoteIndexCache
from barnabas.tiered.remote_metrics import RemoteMetrics
from barnabas.tiered.store.object_names import ObjectNames
from barnabas.tiered.store.store import RemoteStore, RemoteStoreError
from barnabas.tiered.workers import Workers


class NotPublished(Exception):
    """The metadata topic did not acknowledge a record, or not in time."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(f"a record of remote metadata was not written: {code.name}")
        self.code = code


@dataclass(frozen=True, slots=True)
class RemoteStorage:
    """The parts that the tasks of all partitions share: the store, the names of objects, and the
    metadata topic."""

    node_id: NodeId
    store: RemoteStore
    names: ObjectNames
    indexes: RemoteIndexCache
    topic: MetadataTopic
    clock: Clock
    metrics: RemoteMetrics
    copiers: Workers
    expirers: Workers

    async def publish(self, event: RemoteLogEvent) -> None:
        """Return when this broker's own catalogue has the event. Raises :class:`NotPublished` when
        that is not certain."""
        code = await awaited(self.topic.write(event))
        if code:
            raise NotPublished(code)

    def update(self, segment: RemoteSegmentMetadata, state: SegmentState) -> RemoteSegmentUpdate:
        return RemoteSegmentUpdate(
            segment.id, state, broker_id=self.node_id, event_timestamp=self.clock.wall_ms(), custom_metadata=segment.custom_metadata
        )

    async def remove(self, segment: RemoteSegmentMetadata) -> None:
        """Raises :class:`NotPublished` and ``RemoteStoreError``; the next expiry finds the segment
        again."""
        topic = segment.id.partition.topic
        if segment.state is not SegmentState.DELETE_SEGMENT_STARTED:
            await self.publish(self.update(segment, SegmentState.DELETE_SEGMENT_STARTED))
        self.metrics.deletes(topic).value += 1
        names = self.names.all_of(segment)
        try:
            await self.expirers.run(lambda: self.store.delete(names))
        except RemoteStoreError:
            self.metrics.delete_errors(topic).value += 1
            raise
        self.indexes.remove([segment.id.uuid])
        await self.publish(self.update(segment, SegmentState.DELETE_SEGMENT_FINISHED))
        self.metrics.deleted_bytes(topic).value += segment.size_bytes
