"""Delivers the committed part of the metadata log to the applier: each batch once and in order, or
a snapshot in place of the batches before its end."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.metadata.applier import MetadataApplier, Snapshot
from barnabas.metadata.metadata_image import Provenance
from barnabas.metadata.snapshot import SnapshotId
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.quorum.snapshots import Snapshots
from barnabas.wire.metadata_records import MetadataRecord


class MetadataDelivery:
    def __init__(self, log: MetadataLog, applier: MetadataApplier, snapshots: Snapshots) -> None:
        self._log = log
        self._applier = applier
        self._snapshots = snapshots
        self._delivered = 0  # committed batches up to here have been delivered

    def begin(self) -> None:
        """Start with the snapshot and the log that are on disk."""
        latest = self._log.read_latest_snapshot()
        if latest is not None:
            self._load(*latest)

    def committed(self, high_watermark: int) -> None:
        # A snapshot that was fetched may cover more than this node knows to be committed.
        if high_watermark > self._delivered:
            batches = list(self._log.batches(self._delivered, high_watermark))
            self._delivered = high_watermark
            self._applier.apply(batches)

    def snapshot_came(self, snapshot: SnapshotId) -> None:
        """A snapshot was installed, because this node was behind the start of the leader's log."""
        latest = self._log.read_latest_snapshot()
        assert latest is not None, f"snapshot {snapshot} was installed and is not there"
        self._load(*latest)

    def _load(self, snapshot: SnapshotId, records: Sequence[MetadataRecord], timestamp_ms: int) -> None:
        self._delivered = snapshot.end_offset
        self._applier.apply([Snapshot(records, Provenance(snapshot.end_offset - 1, snapshot.epoch, timestamp_ms))])
        self._snapshots.loaded(snapshot)
