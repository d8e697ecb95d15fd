"""The share partitions of one partition of ``__share_group_state``.

    operation      checks, in Kafka's order                       record
    initialize     state epoch, topic                             snapshot, without batches
    write          initialized, batches, leader epoch,            update, or snapshot after
                   state epoch, topic                             enough updates
    read           initialized, leader epoch, topic               update, if the leader epoch rises
    read_summary   topic                                          none
    delete         topic                                          tombstone, if there is a state

The state of a deleted topic is deleted too: when the deletion is published, and by a regular scan
for shards that had no leader then, or whose log refused the tombstone.

The log is kept short. Every so often :class:`~.effects.PruneLog` names the offset below which all
records are superseded. A share partition at rest would hold that offset back, so it gets a *cold
snapshot*, unless all share partitions of the shard are at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.coordinators.share import refusal
from barnabas.coordinators.share.effects import PruneLog
from barnabas.coordinators.share.partition_state import FIRST_EPOCH, NO_EPOCH, PartitionState, after_snapshot, after_update
from barnabas.coordinators.share.persister import (
    NO_START_OFFSET,
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateBatch,
)
from barnabas.coordinators.share.records import snapshot_of, tombstone_of, update_of
from barnabas.coordinators.share.redundant_offsets import RedundantOffsets
from barnabas.coordinators.share.refusal import Refusal
from barnabas.coordinators.share.settings import ShareCoordinatorSettings
from barnabas.coordinators.share.state_batches import combine
from barnabas.coordinators.timers import Timers
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.coordinator_records.share_snapshot import ShareSnapshotKey
from barnabas.wire.coordinator_records.share_update import ShareUpdateKey

# The most batches of one share partition. A leader has at most 10,000 records in flight (the bound
# of group.share.max.partition.max.record.locks), and a snapshot with more batches than this would
# not fit into a batch of the default size.
STATE_BATCHES_MAX = 50_000
_TOO_MANY_BATCHES = Refusal(ErrorCode.INVALID_REQUEST, f"A share partition has at most {STATE_BATCHES_MAX} state batches.")

_COLD_SCAN = "cold snapshots"
_PRUNING = "pruning"


class ShareMachine:
    def __init__(self, partition: int, settings: ShareCoordinatorSettings, image: Callable[[], MetadataImage]) -> None:
        """``image`` is the newest metadata, for topics and their partitions."""
        self.partition = partition
        self.timers = Timers()
        self.states: dict[SharePartitionKey, PartitionState] = {}
        self._settings = settings
        self._image = image
        self._redundant = RedundantOffsets()
        self._pruned_before = 0

    # -- the log -----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None, offset: int) -> None:
        assert isinstance(record.key, ShareSnapshotKey | ShareUpdateKey)
        key = SharePartitionKey(record.key.group_id, record.key.topic_id, record.key.partition)
        before = self.states.get(key)
        if isinstance(record.key, ShareUpdateKey):
            if record.value is not None:
                self.states[key] = after_update(before, record.value)
        elif record.value is None:
            self.states.pop(key, None)
            self._redundant.tombstone(key, offset)
        else:
            self.states[key] = after_snapshot(before, record.value)
            self._redundant.snapshot(key, offset)

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        """Does nothing: no transaction writes to this log."""

    def loaded(self, now_ms: int) -> None:
        self.timers.set(_COLD_SCAN, now_ms + self._settings.cold_snapshot_ms, self._scan_for_cold)
        self.timers.set(_PRUNING, now_ms + self._settings.prune_ms, self._prune)
        self.forget_deleted_topics(now_ms)

    def unloaded(self) -> None:
        """No request waits here: every answer follows from a commit."""

    # -- requests ----------------------------------------------------------------------------------

    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int, now_ms: int) -> Outcome[ErrorCode | Refusal]:
        """Begin from scratch: earlier batches and the leader epoch are discarded."""
        if key.partition < 0:
            return Outcome(refusal.NEGATIVE_PARTITION)
        before = self.states.get(key)
        if before is not None and state_epoch != NO_EPOCH and before.state_epoch_max > state_epoch:
            return Outcome(refusal.FENCED_STATE)
        if not self._exists(key):
            return Outcome(refusal.UNKNOWN_PARTITION)
        state = PartitionState(
            snapshot_epoch=before.snapshot_epoch + 1 if before is not None else FIRST_EPOCH,
            state_epoch=state_epoch,
            leader_epoch=FIRST_EPOCH,
            start_offset=start_offset,
            # From a known start on the lag is known; before that, no record counts as delivered.
            delivery_complete_count=UNKNOWN_COUNT if start_offset == NO_START_OFFSET else 0,
            batches=(),
            create_ms=now_ms,
            write_ms=now_ms,
        )
        return Outcome(ErrorCode.NONE, [snapshot_of(key, state)])

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        now_ms: int,
    ) -> Outcome[ErrorCode | Refusal]:
        if key.partition < 0:
            return Outcome(refusal.NEGATIVE_PARTITION)
        state = self.states.get(key)
        if state is None:
            return Outcome(refusal.WRITE_UNINITIALIZED)
        if len(state.batches) + len(batches) > STATE_BATCHES_MAX:
            return Outcome(_TOO_MANY_BATCHES)
        if any(each.last_offset < each.first_offset for each in batches):
            return Outcome(refusal.REVERSED_BATCH)
        if leader_epoch != NO_EPOCH and state.leader_epoch_max > leader_epoch:
            return Outcome(refusal.FENCED_LEADER)
        if state_epoch != NO_EPOCH and state.state_epoch_max > state_epoch:
            return Outcome(refusal.FENCED_STATE)
        if not self._exists(key):
            return Outcome(refusal.UNKNOWN_PARTITION)
        # Only a read raises the leader epoch: a leader reads before it writes.
        record = self._changed(key, state, state.leader_epoch, start_offset, delivery_complete_count, batches, now_ms)
        return Outcome(ErrorCode.NONE, [record])

    def read(self, key: SharePartitionKey, *, leader_epoch: int, now_ms: int) -> Outcome[ShareState | Refusal]:
        """The state, for a new leader of the partition, whose epoch fences its predecessors from
        now on.
        """
        if key.partition < 0:
            return Outcome(refusal.NEGATIVE_PARTITION)
        state = self.states.get(key)
        if state is None:
            return Outcome(refusal.READ_UNINITIALIZED)
        if state.leader_epoch_max > leader_epoch:
            return Outcome(refusal.FENCED_LEADER)
        if not self._exists(key):
            return Outcome(refusal.UNKNOWN_PARTITION)
        answer = ShareState(state.state_epoch, state.start_offset, state.batches)
        if state.leader_epoch_max == leader_epoch:
            return Outcome(answer)
        record = self._changed(key, state, leader_epoch, state.start_offset, state.delivery_complete_count, (), now_ms)
        return Outcome(answer, [record])

    def read_summary(self, key: SharePartitionKey) -> Outcome[ShareSummary | Refusal]:
        """The numbers from which tools compute the lag. A share partition without a state has a
        summary without a start offset.
        """
        if key.partition < 0:
            return Outcome(refusal.NEGATIVE_PARTITION)
        if not self._exists(key):
            return Outcome(refusal.UNKNOWN_PARTITION)
        state = self.states.get(key)
        if state is None:
            return Outcome(ShareSummary(FIRST_EPOCH, FIRST_EPOCH, NO_START_OFFSET, UNKNOWN_COUNT))
        return Outcome(ShareSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count))

    def delete(self, key: SharePartitionKey) -> Outcome[ErrorCode | Refusal]:
        """Deleting a state that does not exist succeeds."""
        if key.partition < 0:
            return Outcome(refusal.NEGATIVE_PARTITION)
        if not self._exists(key):
            return Outcome(refusal.UNKNOWN_PARTITION)
        return Outcome(ErrorCode.NONE, [tombstone_of(key)] if key in self.states else ())

    def forget_deleted_topics(self, now_ms: int) -> Outcome[None]:
        """Each state is deleted by a write of its own, so that no batch becomes too large."""
        topics = self._image().topics.by_id
        for key in self.states:
            if key.topic_id not in topics:
                self.timers.set(("forget", key), now_ms, partial(self._forget, key))
        return Outcome(None)

    # -- time --------------------------------------------------------------------------------------

    def _forget(self, key: SharePartitionKey, now_ms: int) -> Outcome[None]:
        deleted = key in self.states and key.topic_id not in self._image().topics.by_id
        return Outcome(None, [tombstone_of(key)] if deleted else ())

    def _scan_for_cold(self, now_ms: int) -> Outcome[None]:
        interval_ms = self._settings.cold_snapshot_ms
        self.timers.set(_COLD_SCAN, now_ms + interval_ms, self._scan_for_cold)
        # Nothing changes, so nothing would become redundant.
        if all(state.cold for state in self.states.values()):
            return Outcome(None)
        for key, state in self.states.items():
            if now_ms - state.write_ms >= interval_ms:
                self.timers.set(("snapshot", key), now_ms, partial(self._snapshot_cold, key))
        return Outcome(None)

    def _snapshot_cold(self, key: SharePartitionKey, now_ms: int) -> Outcome[None]:
        state = self.states.get(key)
        if state is None:
            return Outcome(None)
        return Outcome(None, [snapshot_of(key, replace(state, snapshot_epoch=state.snapshot_epoch + 1, write_ms=now_ms))])

    def _prune(self, now_ms: int) -> Outcome[None]:
        self.timers.set(_PRUNING, now_ms + self._settings.prune_ms, self._prune)
        self.forget_deleted_topics(now_ms)
        needed_from = self._redundant.needed_from
        if needed_from <= self._pruned_before:
            return Outcome(None)
        self._pruned_before = needed_from
        return Outcome(None, effects=[PruneLog(needed_from)])

    # -- decisions ---------------------------------------------------------------------------------

    def _exists(self, key: SharePartitionKey) -> bool:
        topic = self._image().topics.by_id.get(key.topic_id)
        return topic is not None and key.partition < len(topic.partitions)

    def _changed(
        self,
        key: SharePartitionKey,
        state: PartitionState,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        now_ms: int,
    ) -> CoordinatorRecord:
        if state.updates < self._settings.updates_per_snapshot:
            return update_of(
                key,
                snapshot_epoch=state.snapshot_epoch,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
                delivery_complete_count=delivery_complete_count,
                batches=combine(batches, start_offset),
            )
        start_offset = state.start_after(start_offset)
        after = replace(
            state,
            snapshot_epoch=state.snapshot_epoch + 1,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            batches=combine([*state.batches, *batches], start_offset),
            create_ms=now_ms,
            write_ms=now_ms,
        )
        return snapshot_of(key, after)
