"""``__cluster_metadata-0`` on disk: the quorum's log, its snapshots and its state, in Kafka's files.

The log is an ordinary partition log whose batches carry metadata records. What is different: nothing counts before it is flushed, and the
front of it may be replaced by a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from barnabas.env.disk import Disk, write_atomically
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
from barnabas.model.ids import METADATA_PARTITION, METADATA_TOPIC_ID, NodeId
from barnabas.raft.quorum_state import QUORUM_STATE, QuorumState, decode_quorum_state, encode_quorum_state
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.control_batch import ControlType, build_control_batch
from barnabas.records.record import Record, open_batch
from barnabas.records.validation import Refused
from barnabas.storage.file_names import PARTITION_METADATA, partition_directory_name
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.recovery import RecoveryReport, open_log
from barnabas.storage.segment import Segment
from barnabas.wire.compiler import encode
from barnabas.wire.embedded.control_records import LeaderChangeMessage, Voter
from barnabas.wire.metadata_records import MetadataRecord, decode_metadata_record

_LEADER_CHANGE_VERSION = 0


@dataclass(frozen=True, slots=True)
class MetadataBatch:
    """Records of one batch, and the provenance of its last. Control batches have none, but move the offset on."""

    records: Sequence[MetadataRecord]
    provenance: Provenance
    size_bytes: int


class MetadataLog:
    def __init__(self, disk: Disk, parent: str, settings: LogSettings, *, clean: bool, now_ms: int) -> None:
        self._disk = disk
        self.directory = f"{parent}/{partition_directory_name(METADATA_PARTITION)}"
        disk.make_directory(self.directory)
        if not disk.exists(f"{self.directory}/{PARTITION_METADATA}"):
            write_topic_id(disk, self.directory, METADATA_TOPIC_ID)
            disk.sync_directory(parent)
        self._remove_unfinished()
        latest = self.snapshots()[-1:]
        self._log, self.report = self._open(settings, latest[0].end_offset if latest else 0, clean=clean, now_ms=now_ms)

    def _open(self, settings: LogSettings, start: int, *, clean: bool, now_ms: int) -> tuple[Log, RecoveryReport]:
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
        if log.log_end_offset < start:
            # The snapshot was fetched or kept while the log behind it is gone: it begins where the snapshot ends.
            log.truncate_fully(start)
        return log, report

    # -- the log --------------------------------------------------------------------------------------------------------------

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

    def write_leader_change(self, leader: NodeId, voters: Sequence[NodeId], *, epoch: int, now_ms: int) -> None:
        everyone = [Voter(voter_id=voter) for voter in voters]
        message = LeaderChangeMessage(
            version=_LEADER_CHANGE_VERSION, leader_id=leader, voters=everyone, granting_voters=[Voter(voter_id=leader)]
        )
        batch = build_control_batch(
            [(ControlType.LEADER_CHANGE, encode(message, _LEADER_CHANGE_VERSION))], base_offset=0, timestamp=now_ms, leader_epoch=epoch
        )
        self._append(batch, epoch, now_ms)

    def _append(self, batch: bytearray, epoch: int, now_ms: int) -> None:
        view = memoryview(batch)
        outcome = self._log.append(view, read_header(view), leader_epoch=epoch, now_ms=now_ms)
        assert not isinstance(outcome, Refused), f"the metadata log refuses its own leader: {outcome}"

    def flushable(self) -> tuple[int, list[Segment]]:
        """What to sync, on whatever thread, and the offset to give to :meth:`flushed` afterwards."""
        return self._log.flushable()

    def flushed(self, end_offset: int) -> None:
        self._log.flushed(end_offset)

    def batches(self, start: int, end: int) -> Iterator[MetadataBatch]:
        """Whole batches from ``start`` up to ``end``, which must be at batch boundaries."""
        for header, batch in self._log.batches(start, end):
            records = [] if header.control else [decode_metadata_record(record.value or b"") for record in open_batch(batch)]
            provenance = Provenance(header.last_offset, header.leader_epoch, header.max_timestamp)
            yield MetadataBatch(records, provenance, header.size_bytes)

    def close(self) -> None:
        self._log.close()

    def abandon(self) -> None:
        self._log.abandon()

    # -- the quorum's state ---------------------------------------------------------------------------------------------------

    def read_quorum_state(self) -> QuorumState:
        path = f"{self.directory}/{QUORUM_STATE}"
        return decode_quorum_state(self._disk.read(path).decode()) if self._disk.exists(path) else QuorumState()

    def write_quorum_state(self, state: QuorumState, voters: list[NodeId]) -> None:
        write_atomically(self._disk, f"{self.directory}/{QUORUM_STATE}", encode_quorum_state(state, voters).encode())

    # -- snapshots ------------------------------------------------------------------------------------------------------------

    def snapshots(self) -> list[SnapshotId]:
        found = (parse_snapshot_name(name) for name in self._disk.names(self.directory))
        return sorted(each for each in found if each is not None)

    def read_latest_snapshot(self) -> tuple[SnapshotId, list[MetadataRecord], int] | None:
        """The newest that is whole, with the timestamp of its last record."""
        for snapshot in reversed(self.snapshots()):
            path = f"{self.directory}/{snapshot.file_name}"
            try:
                records, timestamp = decode_snapshot(self._disk.read(path))
            except SnapshotDamaged:
                if snapshot.end_offset > self.start_offset:
                    # The log still has what this one tried to replace.
                    self._disk.remove(path)
                    continue
                raise
            return snapshot, records, timestamp
        return None

    def write_snapshot(self, snapshot: SnapshotId, records: Sequence[MetadataRecord], *, last_timestamp: int, now_ms: int) -> None:
        """Durable under its name only when it is whole."""
        path = f"{self.directory}/{snapshot.file_name}"
        part = path.removesuffix(".checkpoint") + PART_SUFFIX
        file = self._disk.open(part)
        file.truncate(0)
        position = 0
        for batch in encode_snapshot(records, epoch=snapshot.epoch, last_contained_timestamp=last_timestamp, timestamp=now_ms):
            file.write_at(position, batch)
            position += len(batch)
        file.sync()
        file.close()
        self._disk.rename(part, path)
        self._disk.sync_directory(self.directory)

    def retain(self, *, size_bytes_max: int, older_than_ms: int) -> int:
        """Drop the oldest snapshots, and log that a kept snapshot covers, while all together is too large or they are too old.

        The newest snapshot is always kept, and log only goes in whole segments. How many bytes that frees.
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
        return freed

    def _time_of(self, snapshot: SnapshotId) -> int:
        """When the last record of a snapshot was written: the header, which is the first batch, says it."""
        head = self._disk.read(f"{self.directory}/{snapshot.file_name}")
        return snapshot_time(head)

    def _total_bytes(self, snapshots: list[SnapshotId]) -> int:
        sizes = (self._disk.size_bytes(f"{self.directory}/{snapshot.file_name}") for snapshot in snapshots)
        return self._log.size_bytes() + sum(sizes)

    def _remove_unfinished(self) -> None:
        for name in self._disk.names(self.directory):
            if name.endswith(PART_SUFFIX):
                self._disk.remove(f"{self.directory}/{name}")
