"""The deed of copying: one sealed segment and all that belongs to it, from local files to objects. Runs on a worker thread.

Every batch is checked on its way, shape, order and checksum: when the local copies have gone by retention, what was sent is all there is,
and a rotten replica must not be what survives. What may happen meanwhile:

- the topic is deleted, the log moved, the segment retired: the log file is held open and goes on being readable; when an index is gone
  before it was read, the copy ends with :class:`SegmentGone`;
- leadership is lost: the copy goes on and is harmless, since its metadata says which leader wrote what; whoever runs it may end it by
  raising from ``take``;
- the process dies: the metadata stays in COPY_SEGMENT_STARTED, and a later leader deletes what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.env.disk import Disk, HeldFile
from barnabas.records.batch_header import HEADER_BYTES, read_header
from barnabas.records.batches import CorruptBatch, check_crc, check_shape
from barnabas.storage.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
)
from barnabas.storage.producer_snapshot import encode_snapshot, snapshot_path
from barnabas.storage.segment import Segment
from barnabas.tiered.aux_state import encode_leader_epochs
from barnabas.tiered.copy_plan import CopyPlan
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.store.object_names import ObjectKind, ObjectNames
from barnabas.tiered.store.store import RemoteStore

# What is read, checked and handed to the store at once; a larger batch comes alone.
PIECE_BYTES = 1024 * 1024


class SegmentGone(Exception):
    """The local files went away or changed meanwhile: the topic was deleted, the log cut or moved. Nothing is wrong with the store."""


class SegmentDamaged(Exception):
    """The local segment does not hold what it should, and was not copied. A replica with a good one can still do it."""


class SegmentCopy:
    """Made and released on the loop's thread, run on a worker's. Holds the log file open, so that a rename or removal does not matter."""

    def __init__(self, disk: Disk, directory: str, segment: Segment, plan: CopyPlan, metadata: RemoteSegmentMetadata) -> None:
        """``directory`` is the partition's. Opens the segment's file; ``SegmentGone`` when it is not what the plan was made for."""
        if segment.size_bytes != plan.segment.size_bytes:
            raise SegmentGone(f"the segment at {segment.base_offset} of {directory} has changed since its copy was planned")
        assert segment.base_offset == plan.segment.base_offset
        self.metadata = metadata
        self._disk = disk
        self._directory = directory
        self._plan = plan
        try:
            self._held: HeldFile | None = segment.file.hold()
        except FileNotFoundError:
            raise SegmentGone(f"{self._log_name()} is not there any more") from None
        self._opened_bytes = segment.file.size_bytes()
        # Where the next segment begins behind a gap, producers were written down as of here.
        self._end_of_batches = segment.next_offset

    def run(self, store: RemoteStore, names: ObjectNames, take: Callable[[int], None]) -> None:
        """Put all objects; the log last, so that a log in a listing means that everything is there.

        ``take(size_bytes)`` is called before each piece is sent, on this thread, and may wait: the copy quota. What it raises ends the
        copy. Raises ``RemoteStoreError``, ``SegmentGone``, ``SegmentDamaged``, or ``OSError`` from the local disk. After any of them some
        objects may be there: publish DELETE_SEGMENT_STARTED, delete ``names.all_of(metadata)``, publish DELETE_SEGMENT_FINISHED.
        """
        for kind, data in self._small_objects():
            take(len(data))
            store.put(names.name(self.metadata, kind), data)
        store.put(names.name(self.metadata, ObjectKind.LOG), self._pieces(take))

    def release(self) -> None:
        """When :meth:`run` has ended, or will not be called."""
        self._held = None

    def _small_objects(self) -> Iterator[tuple[ObjectKind, bytes]]:
        stem = f"{self._directory}/{offset_name(self.metadata.start_offset)}"
        yield ObjectKind.INDEX, self._read(stem + INDEX_SUFFIX)
        yield ObjectKind.TIME_INDEX, self._read(stem + TIME_INDEX_SUFFIX)
        if not self.metadata.txn_index_empty:
            yield ObjectKind.TRANSACTION_INDEX, self._read(stem + TRANSACTION_INDEX_SUFFIX)
        yield ObjectKind.SNAPSHOT, self._producers()
        yield ObjectKind.LEADER_EPOCHS, encode_leader_epochs(self._plan.leader_epochs_to_end)

    def _read(self, path: str) -> bytes:
        try:
            return self._disk.read(path)
        except FileNotFoundError:
            raise SegmentGone(f"{path} is not there any more") from None

    def _producers(self) -> bytes:
        """As of the segment's end. Where no snapshot was written there (an old log, a snapshot dropped at start) an empty one goes:
        a follower that starts from it accepts any sequence, as Kafka does for producers it has forgotten."""
        for offset in (self._plan.next_base_offset, self._end_of_batches):
            try:
                return self._disk.read(snapshot_path(self._directory, offset))
            except FileNotFoundError:
                continue
        return encode_snapshot(())

    def _pieces(self, take: Callable[[int], None]) -> Iterator[memoryview]:
        """The log, in pieces of whole batches, each of them checked."""
        held, size_bytes, position = self._held, self.metadata.size_bytes, 0
        assert held is not None, "the copy was released before it ran"
        expected, wanted = self.metadata.start_offset, PIECE_BYTES
        if self._opened_bytes < size_bytes:
            raise SegmentGone(f"{self._log_name()} has {self._opened_bytes} bytes instead of {size_bytes}: it was cut")
        while position < size_bytes:
            data = memoryview(held.read_at(position, min(wanted, size_bytes - position)))
            start, wanted = 0, PIECE_BYTES
            while len(data) - start >= HEADER_BYTES:
                header = read_header(data, start)
                stop = start + header.size_bytes
                try:
                    check_shape(header, position + start)
                    if stop > len(data):
                        wanted = max(PIECE_BYTES, header.size_bytes)
                        break
                    check_crc(data[start:stop], header)
                except CorruptBatch as wrong:
                    raise SegmentDamaged(f"{self._log_name()}: {wrong}") from wrong
                if header.base_offset < expected or header.last_offset > self.metadata.end_offset:
                    raise SegmentDamaged(
                        f"{self._log_name()} has offsets {header.base_offset} to {header.last_offset} at position {position + start}, "
                        f"where {expected} to {self.metadata.end_offset} may be"
                    )
                expected, start = header.last_offset + 1, stop
            if start:
                take(start)
                yield data[:start]
                position += start
            elif wanted == PIECE_BYTES or position + wanted > size_bytes:
                raise SegmentDamaged(f"{self._log_name()} ends inside the batch at position {position}")

    def _log_name(self) -> str:
        return f"{self._directory}/{offset_name(self.metadata.start_offset)}{LOG_SUFFIX}"
