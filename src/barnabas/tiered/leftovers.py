"""Deleted partitions whose remote data a broker began to delete and did not finish, because it died
or could not reach the store.

A broker that deletes the remote data of a partition first writes DELETE_PARTITION_MARKED, and
DELETE_PARTITION_FINISHED when it is done. A broker that becomes the leader of a partition of
``__remote_log_metadata`` reads it once, and finishes every deletion that is marked and not
finished. Data that is not marked is left alone, also when its topic is unknown here: this broker's
metadata may only be behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from barnabas.metadata.metadata_image import MetadataImage
from barnabas.records.batches import CorruptBatch
from barnabas.records.record import open_batch
from barnabas.replication.partition import Partition
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.events import decode_event, partition_of
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemotePartitionDelete, RemoteSegmentMetadata
from barnabas.tiered.metadata.segment_state import PartitionDeleteState

# The longest time that reading the topic may occupy the event loop.
READING_SLICE_SECONDS_MAX = 0.01


async def leftovers_of(partition: Partition, image: Callable[[], MetadataImage]) -> dict[RemotePartition, list[RemoteSegmentMetadata]]:
    """The unfinished deletions in one partition of the metadata topic, which this broker leads.
    Raises ``OSError`` when the disk failed."""
    catalogues: dict[RemotePartition, RemoteCatalogue] = {}
    marked: dict[RemotePartition, None] = {}
    offset, end = partition.log.log_start_offset, partition.high_watermark
    while offset < end:
        began = monotonic()
        for header, batch in partition.log.batches(offset, end):
            offset = header.last_offset + 1
            if not header.control:
                _replay(bytes(batch), image(), catalogues, marked)
            if monotonic() - began > READING_SLICE_SECONDS_MAX:
                break
        else:
            break
        await asyncio.sleep(0)
    return {each: catalogues[each].segments() if each in catalogues else [] for each in marked}


def _replay(
    batch: bytes, image: MetadataImage, catalogues: dict[RemotePartition, RemoteCatalogue], marked: dict[RemotePartition, None]
) -> None:
    try:
        events = [decode_event(record.value) for record in open_batch(batch) if record.value is not None]
    except (ValueError, CorruptBatch):
        # The subscriptions to the topic have logged this already.
        return
    for event in events:
        owner = partition_of(event)
        if owner.topic_id in image.topics.by_id:
            continue
        if not isinstance(event, RemotePartitionDelete):
            catalogues.setdefault(owner, RemoteCatalogue()).apply(event)
        elif event.state is PartitionDeleteState.DELETE_PARTITION_FINISHED:
            marked.pop(owner, None)
            catalogues.pop(owner, None)
        else:
            marked[owner] = None
