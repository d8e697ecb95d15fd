"""The record types of ``__share_group_state``."""

from __future__ import annotations

from barnabas.coordinators.record import RecordTypes
from barnabas.wire.coordinator_records.share_snapshot import ShareSnapshotKey, ShareSnapshotValue
from barnabas.wire.coordinator_records.share_update import ShareUpdateKey, ShareUpdateValue

SHARE_RECORD_TYPES: RecordTypes = {
    0: (ShareSnapshotKey, ShareSnapshotValue),
    1: (ShareUpdateKey, ShareUpdateValue),
}
