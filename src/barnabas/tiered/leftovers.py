"""Deleted partitions whose remote data somebody began to delete and did not finish: a broker that died, or could not reach the store.

Whoever deletes the remote data of a partition says so first (DELETE_PARTITION_MARKED), and says when it is done (..._FINISHED).
Who comes to lead a partition of ``__remote_log_metadata`` reads it once, and finishes what is marked and not finished. What is not marked
is left alone, also when its topic is unknown here: this broker may only not have heard of it yet.
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

# So long may reading the topic keep the loop to itself.
READING_SLICE_SECONDS_MAX = 0.01


async def leftovers_of(partition: Partition, image: Callable[[], MetadataImage]) -> dict[RemotePartition, list[RemoteSegmentMetadata]]:
    """What one partition of the metadata topic, led here, has of deletions that were begun. ``OSError`` when the disk failed."""
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
        # Those who follow the topic have said so.
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
