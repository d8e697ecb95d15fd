"""Copies one sealed segment and its indexes from local files to objects. Runs on a worker thread.

Every batch is checked on the way, its shape, order and checksum: once retention has removed the
local copies, the remote one is the only one left, and a corrupt replica must not be the one that
survives. Events that may come in between:

- The topic is deleted, the log is moved or the segment is retired: the log file is held open and
  stays readable. When an index is gone before it was read, the copy ends with :class:`SegmentGone`.
- Leadership is lost: the copy continues and is harmless, since its metadata names the leader epochs
  of its records. The caller may end it by raising from ``take``.
- The process dies: the metadata stays in COPY_SEGMENT_STARTED, and a later leader deletes the
  objects.
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

# The amount that is read, checked and passed to the store at once; a larger batch is a piece of its
# own.
PIECE_BYTES = 1024 * 1024


class SegmentGone(Exception):
    """The local files are gone or have changed: the topic was deleted, or the log was truncated or
    moved. The store is not at fault."""


class SegmentDamaged(Exception):
    """The local segment is damaged and was not copied. A replica with an intact one can still copy
    it."""


class SegmentCopy:
    """Created and released on the loop's thread, run on a worker thread. Holds the log file open,
    so that a rename or removal does not matter."""

    def __init__(self, disk: Disk, directory: str, segment: Segment, plan: CopyPlan, metadata: RemoteSegmentMetadata) -> None:
        """``directory`` is the partition's. Opens the segment's file; raises ``SegmentGone`` when
        the segment has changed since the plan was made."""
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
            raise SegmentGone(f"{self._log_name()} no longer exists") from None
        self._opened_bytes = segment.file.size_bytes()
        # Where a gap lies in front of the next segment, the producer snapshot is as of this offset.
        self._end_of_batches = segment.next_offset

    def run(self, store: RemoteStore, names: ObjectNames, take: Callable[[int], None]) -> None:
        """Put all objects, the log last, so that a log in a listing means that the copy is
        complete.

        ``take(size_bytes)`` is called before each piece is sent, on this thread, and may wait: the
        copy quota. An exception from it ends the copy. Raises ``RemoteStoreError``,
        ``SegmentGone``, ``SegmentDamaged``, or ``OSError`` from the local disk. After any of them
        some objects may exist: publish DELETE_SEGMENT_STARTED, delete ``names.all_of(metadata)``,
        publish DELETE_SEGMENT_FINISHED.
        """
        for kind, data in self._small_objects():
            take(len(data))
            store.put(names.name(self.metadata, kind), data)
        store.put(names.name(self.metadata, ObjectKind.LOG), self._pieces(take))

    def release(self) -> None:
        """Call this when :meth:`run` has ended, or will not be called."""
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
            raise SegmentGone(f"{path} no longer exists") from None

    def _producers(self) -> bytes:
        """The producers as of the segment's end. Where no snapshot was written there (an old log,
        or a snapshot dropped at start) an empty one is sent: a follower that starts from it accepts
        any sequence, as Kafka does for producers that it has forgotten."""
        for offset in (self._plan.next_base_offset, self._end_of_batches):
            try:
                return self._disk.read(snapshot_path(self._directory, offset))
            except FileNotFoundError:
                continue
        return encode_snapshot(())

    def _pieces(self, take: Callable[[int], None]) -> Iterator[memoryview]:
        """The log in pieces of whole batches, each batch checked."""
        held, size_bytes, position = self._held, self.metadata.size_bytes, 0
        assert held is not None, "the copy was released before it ran"
        expected, wanted = self.metadata.start_offset, PIECE_BYTES
        if self._opened_bytes < size_bytes:
            raise SegmentGone(f"{self._log_name()} has {self._opened_bytes} bytes instead of {size_bytes}: it was truncated")
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
                except CorruptBatch as error:
                    raise SegmentDamaged(f"{self._log_name()}: {error}") from error
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
