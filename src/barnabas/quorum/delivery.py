"""What the quorum has committed, on its way to the image: each batch once and in order, or a snapshot in place of those before it."""

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
        self._delivered = 0  # committed batches up to here have been handed on

    def begin(self) -> None:
        """With what is on disk."""
        latest = self._log.read_latest_snapshot()
        if latest is not None:
            self._load(*latest)

    def committed(self, high_watermark: int) -> None:
        # A snapshot that was fetched may stand for more than the quorum has told this node to be committed.
        if high_watermark > self._delivered:
            batches = list(self._log.batches(self._delivered, high_watermark))
            self._delivered = high_watermark
            self._applier.apply(batches)

    def snapshot_came(self, snapshot: SnapshotId) -> None:
        """This node had fallen behind what the leader still has of the log."""
        latest = self._log.read_latest_snapshot()
        assert latest is not None, f"snapshot {snapshot} was installed and is not there"
        self._load(*latest)

    def _load(self, snapshot: SnapshotId, records: Sequence[MetadataRecord], timestamp_ms: int) -> None:
        self._delivered = snapshot.end_offset
        self._applier.apply([Snapshot(records, Provenance(snapshot.end_offset - 1, snapshot.epoch, timestamp_ms))])
        self._snapshots.loaded(snapshot)
