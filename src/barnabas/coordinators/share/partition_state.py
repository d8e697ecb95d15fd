"""The delivery state of one share partition, as its records build it up.

    ShareSnapshot    the whole state; written when the state is initialized, after a number of
                     updates, and now and then for a share partition at rest
    ShareUpdate      the changes of one write
    tombstone        the state is deleted

Two epochs fence callers that are behind. The *leader epoch* is that of the partition's leader that
read the state last. The *state epoch* rises with every initialization, as when an administrator
moves the start offset. As in Kafka an initialization writes leader epoch 0, yet an older leader
stays fenced for as long as this state lives.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.share.persister import NO_START_OFFSET, StateBatch
from barnabas.coordinators.share.state_batches import combine
from barnabas.model.dataclass import dataclass
from barnabas.wire.coordinator_records import share_snapshot, share_update
from barnabas.wire.coordinator_records.share_snapshot import ShareSnapshotValue
from barnabas.wire.coordinator_records.share_update import ShareUpdateValue

# The epochs of a share partition whose records do not tell.
FIRST_EPOCH = 0
NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class PartitionState:
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    create_ms: int = 0
    """When the state of the last snapshot was reached."""
    write_ms: int = 0
    """When the last snapshot was written; later than ``create_ms`` for a cold snapshot."""
    updates: int = 0
    """The updates since the last snapshot."""
    leader_epoch_max: int = FIRST_EPOCH
    state_epoch_max: int = FIRST_EPOCH

    @property
    def cold(self) -> bool:
        """Whether the last snapshot repeats an earlier one, and nothing has changed since."""
        return self.write_ms != self.create_ms and self.updates == 0

    def start_after(self, start_offset: int) -> int:
        return self.start_offset if start_offset == NO_START_OFFSET else start_offset


def after_snapshot(before: PartitionState | None, value: ShareSnapshotValue) -> PartitionState:
    return PartitionState(
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start_offset,
        delivery_complete_count=value.delivery_complete_count,
        batches=tuple(_batches(value.state_batches)),
        create_ms=value.create_timestamp,
        write_ms=value.write_timestamp,
        leader_epoch_max=max(value.leader_epoch, before.leader_epoch_max) if before is not None else value.leader_epoch,
        state_epoch_max=max(value.state_epoch, before.state_epoch_max) if before is not None else value.state_epoch,
    )


def after_update(before: PartitionState | None, value: ShareUpdateValue) -> PartitionState:
    if before is None:
        # The snapshot is gone from the log, which only a damaged log can cause. Kafka takes what
        # the update says, and so does this coordinator.
        before = PartitionState(value.snapshot_epoch, FIRST_EPOCH, value.leader_epoch, NO_START_OFFSET, 0, ())
    start_offset = before.start_after(value.start_offset)
    return PartitionState(
        snapshot_epoch=before.snapshot_epoch,
        state_epoch=before.state_epoch,
        leader_epoch=before.leader_epoch if value.leader_epoch == NO_EPOCH else value.leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=value.delivery_complete_count,
        batches=combine([*before.batches, *_batches(value.state_batches)], start_offset),
        create_ms=before.create_ms,
        write_ms=before.write_ms,
        updates=before.updates + 1,
        leader_epoch_max=max(before.leader_epoch_max, value.leader_epoch),
        state_epoch_max=before.state_epoch_max,
    )


def _batches(stored: Iterable[share_snapshot.StateBatch | share_update.StateBatch]) -> Iterable[StateBatch]:
    return (StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in stored)
