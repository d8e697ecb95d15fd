"""The deed of copying: one sealed segment and all that belongs to it, from local files to objects. Runs on a worker thread."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.env.disk import Disk
from barnabas.storage.remote.copy_plan import CopyPlan
from barnabas.storage.remote.object_names import ObjectNames
from barnabas.storage.remote.segment_metadata import RemoteSegmentMetadata
from barnabas.storage.remote.store import RemoteStore
from barnabas.storage.segment import Segment


class SegmentGone(Exception):
    """The local files went away or changed meanwhile: the topic was deleted, the log cut or moved. Nothing is wrong with the store."""


class SegmentDamaged(Exception):
    """The local segment does not hold what it should. A replica with a good one should become leader; nothing was copied."""


class SegmentCopy:
    """Made and released on the loop's thread, run on a worker's. Holds the log file open, so that a rename or removal does not matter."""

    def __init__(self, disk: Disk, directory: str, segment: Segment, plan: CopyPlan, metadata: RemoteSegmentMetadata) -> None:
        """``directory`` is the partition's. Pins the segment's file."""
        raise NotImplementedError

    def run(self, store: RemoteStore, names: ObjectNames, take: Callable[[int], None]) -> None:
        """Put all objects; the log last, so that a log in a listing means that everything is there.

        ``take(size_bytes)`` is called before each piece is sent, on this thread, and may wait: the copy quota. What it raises ends the copy.
        Raises ``RemoteStoreError``, ``SegmentGone``, ``SegmentDamaged``, or ``OSError`` from the local disk. After any of them some objects
        may be there: publish DELETE_SEGMENT_STARTED, delete ``names.all_of(metadata)``, publish DELETE_SEGMENT_FINISHED.
        """
        raise NotImplementedError

    def release(self) -> None:
        """When :meth:`run` has ended, or will not be called."""
        raise NotImplementedError
