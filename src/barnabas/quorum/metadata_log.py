"""``__cluster_metadata-0`` on disk: the quorum's log, its snapshots and its state, in Kafka's
files.

The log is an ordinary partition log whose batches carry metadata records, with two differences: a
batch counts only when it is flushed, and a snapshot may replace the front of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from barnabas.env.disk import Disk, DiskFile, out_of_room, write_atomically
from barnabas.metadata.applier import MetadataBatch
from barnabas.metadata.metadata_image import Provenance
from barnabas.metadata.snapshot import (
    PART_SUFFIX,
    SnapshotDamaged,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
    parse_snapshot_name,
    snapshot_time,
)
from barnabas.model.buffers import Buffer
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import METADATA_PARTITION, METADATA_TOPIC_ID, NodeId
from barnabas.quorum.core.control_history import ControlChange, control_changes
from barnabas.quorum.core.log_outline import EMPTY, EpochStart, LogOutline, OffsetAndEpoch
from barnabas.quorum.core.quorum_state import QUORUM_STATE, QuorumState, decode_quorum_state, encode_quorum_state
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.batches import check_crc, walk
from barnabas.records.control_batch import ControlType, build_control_batch
from barnabas.records.record import Record, open_batch
from barnabas.records.validation import Refused
from barnabas.storage.file_names import PARTITION_METADATA, partition_directory_name
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.recovery import RecoveryReport, open_log
from barnabas.storage.segment import Segment
from barnabas.wire.metadata_records import MetadataRecord, decode_metadata_record


@dataclass(frozen=True, slots=True)
class EncodedRecords:
    """The records of a batch. Each is decoded when the iteration reaches it, because decoding ten
    thousand in one turn would block the event loop."""

    batch: Buffer

    def __iter__(self) -> Iterator[MetadataRecord]:
        """Raises ``MalformedMessage`` or ``MalformedRecord`` where the bytes are no metadata
        records."""
        for record in open_batch(self.batch):
            yield decode_metadata_record(record.value or b"")


class MetadataLog:
    def __init__(self, disk: Disk, parent: str, settings: LogSettings, *, clean: bool, now_ms: int) -> None:
        self._disk = disk
        self.directory = f"{parent}/{partition_directory_name(METADATA_PARTITION)}"
        disk.make_directory(self.directory)
        if not disk.exists(f"{self.directory}/{PARTITION_METADATA}"):
            write_topic_id(disk, self.directory, METADATA_TOPIC_ID)
            disk.sync_directory(parent)
        self._remove_unfinished()
        # A snapshot of another node that is being written here, piece by piece.
        self._unfinished: tuple[OffsetAndEpoch, DiskFile] | None = None
        self._log, self.report = self._open(settings, clean=clean, now_ms=now_ms)

    def _open(self, settings: LogSettings, *, clean: bool, now_ms: int) -> tuple[Log, RecoveryReport]:
        log, report = open_log(
            self._disk,
            self.directory,
            METADATA_PARTITION,
            settings,
            clean=clean,
            recovery_point=0,
            log_start_offset=0,
            now_ms=now_ms,
        )
        if not clean:
            # The last writes of a process that died may still be in the page cache, and a voter
            # vouches for everything that its log has.
            log.flush()
        snapshots = self.snapshots()
        if snapshots:
            latest = snapshots[-1]
            if log.log_end_offset < latest.end_offset or 0 <= log.leader_epochs.latest < latest.epoch:
                # The snapshot was fetched or kept, while the log behind it is gone or diverges from
                # the quorum's log. The log begins where the snapshot ends.
                log.truncate_fully(latest.end_offset)
            elif log.log_start_offset > 0:
                log.advance_start(max(log.log_start_offset, snapshots[0].end_offset))
        return log, report

    # -- the log -----------------------------------------------------------------------------------

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def start_offset(self) -> int:
        return self._log.log_start_offset

    def size_bytes(self) -> int:
        return self._log.size_bytes()

    def write_batch(self, payloads: Sequence[bytes], *, epoch: int, now_ms: int) -> None:
        self._append(build_batch(Record(index, now_ms, None, payload) for index, payload in enumerate(payloads)), epoch, now_ms)

    def write_control(self, records: Sequence[tuple[ControlType, bytes]], *, epoch: int, now_ms: int) -> None:
        self._append(build_control_batch(list(records), base_offset=0, timestamp=now_ms, leader_epoch=epoch), epoch, now_ms)

    def write_fetched(self, batches: Buffer, *, now_ms: int) -> None:
        """Append checked batches, with the offsets and epochs that the leader gave them. Batches
        that the log has already are skipped."""
        view = memoryview(batches)
        for position, header in walk(view):
            if header.base_offset < self._log.log_end_offset:
                continue
            assert header.base_offset == self._log.log_end_offset
            self._log.append_as_follower(view[position : position + header.size_bytes], header, now_ms)

    def truncate(self, end_offset: int) -> int:
        """Truncate durably. Returns the new end of the log, which is lower than ``end_offset`` when
        a batch spans it."""
        self._log.truncate_to(end_offset)
        return self._log.log_end_offset

    def read(self, offset: int, *, size_bytes_max: int) -> bytes:
        """Batches from ``offset`` on, at least one; the last may be incomplete."""
        read = self._log.read(offset, size_bytes_max=size_bytes_max, end_offset=self._log.log_end_offset, at_least_one=True)
        if read.region is None:
            return b""
        data = read.region.read()
        read.region.release()
        return data

    def _append(self, batch: bytearray, epoch: int, now_ms: int) -> None:
        self._write(memoryview(batch), epoch, now_ms)

    def _write(self, batch: memoryview, epoch: int, now_ms: int) -> None:
        outcome = self._log.append(batch, read_header(batch), leader_epoch=epoch, now_ms=now_ms)
        assert not isinstance(outcome, Refused), f"the metadata log refuses its own leader: {outcome}"

    def flushable(self) -> tuple[int, list[Segment]]:
        """The segments to sync, on any thread, and the offset to pass to :meth:`flushed`
        afterwards."""
        return self._log.flushing.begin(self._log.log_end_offset)

    def flushed(self, end_offset: int) -> None:
        self._log.flushing.end(end_offset)

    def batches(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """Whole batches from ``start`` up to ``end``, which must be batch boundaries."""
        for header, batch in self._log.batches(start, end):
            records: Iterable[MetadataRecord] = () if header.control else EncodedRecords(batch)
            provenance = Provenance(header.last_offset, header.leader_epoch, header.max_timestamp)
            yield MetadataBatch(records, provenance, header.size_bytes)

    # -- what the quorum needs to know of the log --------------------------------------------------

    def outline(self) -> LogOutline:
        log = self._log
        return LogOutline(
            start_offset=log.log_start_offset,
            end_offset=log.log_end_offset,
            epochs=self._epochs(),
            snapshots=self.snapshot_ends(),
            flushed_offset=log.log_end_offset,
        )

    def _epochs(self) -> list[EpochStart]:
        log = self._log
        found = [EpochStart(epoch, start) for epoch, start in log.leader_epochs.entries if start < log.log_end_offset]
        if not found:
            # Without the checkpoint the epochs are read from the log itself: a voter that took its
            # log for older than it is could vote for the wrong candidate.
            for header, _ in log.batches(log.log_start_offset, log.log_end_offset):
                if not found or header.leader_epoch > found[-1].epoch:
                    found.append(EpochStart(header.leader_epoch, header.base_offset))
        return found

    def snapshot_ends(self) -> list[OffsetAndEpoch]:
        return [OffsetAndEpoch(*snapshot) for snapshot in self.snapshots()]

    def control_changes(self) -> list[ControlChange]:
        """The changes of voters and kraft.version in the latest snapshot and in the log behind
        it."""
        changes: list[ControlChange] = []
        start = self.start_offset
        latest = self._latest_whole_snapshot()
        if latest is not None:
            snapshot, data = latest
            start = max(start, snapshot.end_offset)
            changes += snapshot_control_changes(snapshot, data)
        for header, batch in self._log.batches(start, self.end_offset):
            changes += control_changes(header, batch)
        return changes

    def close(self) -> None:
        self._log.close()

    def abandon(self) -> None:
        self._log.abandon()

    # -- the quorum's state ------------------------------------------------------------------------

    def read_quorum_state(self) -> QuorumState:
        path = f"{self.directory}/{QUORUM_STATE}"
        return decode_quorum_state(self._disk.read(path).decode()) if self._disk.exists(path) else QuorumState()

    def write_quorum_state(self, state: QuorumState, voters: list[NodeId] | None) -> None:
        """``voters`` are the configured ones; None when the voters are in the log."""
        write_atomically(self._disk, f"{self.directory}/{QUORUM_STATE}", encode_quorum_state(state, voters).encode())

    # -- snapshots ---------------------------------------------------------------------------------

    def snapshots(self) -> list[SnapshotId]:
        found = (parse_snapshot_name(name) for name in self._disk.names(self.directory))
        return sorted(each for each in found if each is not None)

    def read_latest_snapshot(self) -> tuple[SnapshotId, list[MetadataRecord], int] | None:
        """The newest snapshot that is complete and has records, with the timestamp of its last
        record."""
        latest = self._latest_whole_snapshot()
        if latest is None or OffsetAndEpoch(*latest[0]) == EMPTY:
            return None
        records, timestamp = decode_snapshot(latest[1])
        return latest[0], records, timestamp

    def _latest_whole_snapshot(self) -> tuple[SnapshotId, bytes] | None:
        for snapshot in reversed(self.snapshots()):
            path = f"{self.directory}/{snapshot.file_name}"
            data = self._disk.read(path)
            try:
                decode_snapshot(data)
            except SnapshotDamaged:
                if snapshot.end_offset > self.start_offset:
                    # The log still has everything that this damaged snapshot was to replace.
                    self._disk.remove(path)
                    continue
                raise
            return snapshot, data
        return None

    def write_snapshot(
        self,
        snapshot: SnapshotId,
        records: Sequence[MetadataRecord],
        *,
        last_timestamp: int,
        now_ms: int,
        controls: Sequence[tuple[ControlType, bytes]] = (),
    ) -> None:
        """Write a snapshot that gets its name only when it is complete and durable. ``controls``
        are the quorum's own records as of its end."""
        path = f"{self.directory}/{snapshot.file_name}"
        part = path.removesuffix(".checkpoint") + PART_SUFFIX
        file = self._disk.open(part)
        try:
            file.truncate(0)
            position = 0
            for batch in encode_snapshot(
                records, epoch=snapshot.epoch, last_contained_timestamp=last_timestamp, timestamp=now_ms, controls=controls
            ):
                file.write_at(position, batch)
                position += len(batch)
            file.sync()
        except OSError as error:
            if out_of_room(error):
                with suppress(OSError):
                    self._disk.remove(part)
            raise
        finally:
            file.close()
        self._disk.rename(part, path)
        self._disk.sync_directory(self.directory)

    def read_snapshot_piece(self, snapshot: OffsetAndEpoch, position: int, *, size_bytes_max: int) -> tuple[int, bytes] | None:
        """The size of the whole snapshot and its bytes from ``position`` on; None when there is no
        such snapshot."""
        path = f"{self.directory}/{SnapshotId(*snapshot).file_name}"
        if not self._disk.exists(path):
            return None
        file = self._disk.open(path)
        try:
            size_bytes = file.size_bytes()
            # The kernel reports a read behind the end as an error of the disk, but it is an error
            # of the peer that asks for it.
            return size_bytes, file.read_at(position, size_bytes_max) if position < size_bytes else b""
        finally:
            file.close()

    def write_snapshot_piece(self, snapshot: OffsetAndEpoch, position: int, data: Buffer) -> None:
        """The first piece, at position 0, creates a file that is valid only once it is
        installed."""
        if position == 0:
            self._forget_unfinished()
            file = self._disk.open(self._part_path(snapshot))
            file.truncate(0)
            self._unfinished = (snapshot, file)
        assert self._unfinished is not None
        assert self._unfinished[0] == snapshot
        self._unfinished[1].write_at(position, data)

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> list[ControlChange] | None:
        """Put the snapshot whose pieces were written in the place of the log. Returns the control
        records in it; None, and the snapshot is removed, if it is damaged."""
        assert self._unfinished is not None
        assert self._unfinished[0] == snapshot
        file, part = self._unfinished[1], self._part_path(snapshot)
        file.sync()
        self._forget_unfinished()
        name = SnapshotId(*snapshot)
        try:
            data = self._disk.read(part)
            decode_snapshot(data)
            changes = snapshot_control_changes(name, data)
        except ValueError:
            self._disk.remove(part)
            return None
        older = self.snapshots()
        self._disk.rename(part, f"{self.directory}/{name.file_name}")
        self._disk.sync_directory(self.directory)
        # This comes last: until here the log and the older snapshots are the only valid copy.
        self._log.truncate_fully(snapshot.offset)
        for each in older:
            if each != name:
                self._disk.remove(f"{self.directory}/{each.file_name}")
        return changes

    def _part_path(self, snapshot: OffsetAndEpoch) -> str:
        return f"{self.directory}/{SnapshotId(*snapshot).file_name.removesuffix('.checkpoint')}{PART_SUFFIX}"

    def _forget_unfinished(self) -> None:
        if self._unfinished is not None:
            self._unfinished[1].close()
            self._unfinished = None

    def retain(self, *, size_bytes_max: int, older_than_ms: int) -> int:
        """Remove the oldest snapshots, and the part of the log that a kept snapshot covers, while
        everything together is too large or they are too old.

        The newest snapshot is always kept, and the log shrinks only by whole segments. Returns the
        number of bytes that were freed.
        """
        freed = 0
        snapshots = self.snapshots()
        while len(snapshots) > 1 and (self._total_bytes(snapshots) > size_bytes_max or self._time_of(snapshots[0]) < older_than_ms):
            oldest = snapshots.pop(0)
            path = f"{self.directory}/{oldest.file_name}"
            freed += self._disk.size_bytes(path)
            self._disk.remove(path)
        if snapshots and self._total_bytes(snapshots) > size_bytes_max:
            freed += self._log.drop_segments_below(snapshots[0].end_offset)
            if self._log.log_start_offset > 0:
                # As with Kafka, a log without its front begins where its oldest snapshot ends.
                self._log.advance_start(max(self._log.log_start_offset, snapshots[0].end_offset))
        return freed

    def _time_of(self, snapshot: SnapshotId) -> int:
        """When the last record of a snapshot was written, from the header in its first batch."""
        head = self._disk.read(f"{self.directory}/{snapshot.file_name}")
        return snapshot_time(head)

    def _total_bytes(self, snapshots: list[SnapshotId]) -> int:
        sizes = (self._disk.size_bytes(f"{self.directory}/{snapshot.file_name}") for snapshot in snapshots)
        return self._log.size_bytes() + sum(sizes)

    def _remove_unfinished(self) -> None:
        for name in self._disk.names(self.directory):
            if name.endswith(PART_SUFFIX):
                self._disk.remove(f"{self.directory}/{name}")


def snapshot_control_changes(snapshot: SnapshotId, data: Buffer) -> list[ControlChange]:
    """The control records, each as of the last record that the snapshot contains, since the offsets
    inside a snapshot mean nothing. Raises ``ValueError`` when it is damaged."""
    changes: list[ControlChange] = []
    view = memoryview(data)
    for position, header in walk(view):
        batch = view[position : position + header.size_bytes]
        check_crc(batch, header)
        changes += control_changes(header, batch, at_offset=snapshot.end_offset - 1)
    return changes
