"""The records of a share partition, as Kafka writes them."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordinators.record import CoordinatorRecord
from barnabas.coordinators.share.partition_state import PartitionState
from barnabas.coordinators.share.persister import SharePartitionKey, StateBatch
from barnabas.wire.coordinator_records import share_snapshot, share_update


def snapshot_of(key: SharePartitionKey, state: PartitionState) -> CoordinatorRecord:
    value = share_snapshot.ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.create_ms,
        write_timestamp=state.write_ms,
        state_batches=[share_snapshot.StateBatch(**each._asdict()) for each in state.batches],
    )
    return CoordinatorRecord(_snapshot_key(key), value)


def update_of(
    key: SharePartitionKey,
    *,
    snapshot_epoch: int,
    leader_epoch: int,
    start_offset: int,
    delivery_complete_count: int,
    batches: Sequence[StateBatch],
) -> CoordinatorRecord:
    value = share_update.ShareUpdateValue(
        snapshot_epoch=snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=delivery_complete_count,
        state_batches=[share_update.StateBatch(**each._asdict()) for each in batches],
    )
    return CoordinatorRecord(share_update.ShareUpdateKey(**key._asdict()), value)


def tombstone_of(key: SharePartitionKey) -> CoordinatorRecord:
    return CoordinatorRecord(_snapshot_key(key), None)


def _snapshot_key(key: SharePartitionKey) -> share_snapshot.ShareSnapshotKey:
    return share_snapshot.ShareSnapshotKey(**key._asdict())
