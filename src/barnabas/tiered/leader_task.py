"""The task of the leader of a tiered partition, repeated for ever: copy the segments that can be
copied, and delete those that have expired.

    COPY_SEGMENT_STARTED committed -> upload -> COPY_SEGMENT_FINISHED committed
    -> the local segment may be retired

What may interrupt it, and what follows:

- The upload fails: its objects are deleted (DELETE_SEGMENT_*), and the segment is copied again
  later under another name.
- COPY_SEGMENT_FINISHED is not acknowledged: it is written again until it is. It may be committed
  already, and then the objects must not be deleted.
- Leadership is lost: the upload is stopped and its objects are deleted; the next leader copies the
  segment itself.
- The broker dies: the next leader copies the segment itself, and deletes the abandoned copy when no
  upload of it can be in progress any more.
- The topic is deleted: the upload is stopped, then everything is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event

from barnabas.config.settings import BrokerSettings
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.model.ids import Uuid
from barnabas.replication.partition import Partition
from barnabas.telemetry.logs import EventLog
from barnabas.tiered.copy_plan import CopyPlan, next_copy
from barnabas.tiered.expiry_plan import plan_expiry
from barnabas.tiered.metadata.chain import earliest_remote_offset
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentId, RemoteSegmentMetadata
from barnabas.tiered.metadata.segment_state import SegmentState
from barnabas.tiered.quota import RemoteQuota, Stopped
from barnabas.tiered.remote_storage import NotPublished, RemoteStorage
from barnabas.tiered.retries import RetryWaits
from barnabas.tiered.segment_copy import SegmentCopy, SegmentDamaged, SegmentGone
from barnabas.tiered.store.store import RemoteStoreError, StoreRefused
from barnabas.tiered.tiered_partition import TieredPartition


class LeaderTask:
    def __init__(
        self,
        tiered: TieredPartition,
        storage: RemoteStorage,
        quota: RemoteQuota,
        settings: BrokerSettings,
        entropy: Entropy,
        log: EventLog,
        *,
        on_disk_failure: Callable[[Partition, OSError], None],
        write_starts: Callable[[Partition], asyncio.Future[None]],
    ) -> None:
        """``write_starts`` makes the log start offsets of a partition's directory durable."""
        self._tiered = tiered
        self._storage = storage
        self._quota = quota
        self._interval_ms = settings.integer("remote.log.manager.task.interval.ms")
        self._waits = RetryWaits.of(settings)
        self._entropy = entropy
        self._log = log
        self._on_disk_failure = on_disk_failure
        self._write_starts = write_starts
        self.leader_epoch = tiered.partition.leader_epoch
        self._stopped = Event()
        self._wake = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._ended)

    def stop(self) -> asyncio.Future[None]:
        """The future is done once this task has no call to the store in progress any more."""
        self._stopped.set()
        self._wake.set()
        return asyncio.shield(self._task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            # A bug of ours. The partition is still served, and its local log only grows.
            self._log.error("a tiered partition is not copied any more", partition=str(self._tiered.id), error=repr(failure))

    def wake(self) -> None:
        """Look now, because settings have changed."""
        self._wake.set()

    def _leads(self) -> bool:
        partition = self._tiered.partition
        return not self._stopped.is_set() and partition.leads and partition.leader_epoch == self.leader_epoch

    async def _run(self) -> None:
        failures = 0
        self._tiered.subscription.ready.then(lambda _: self._wake.set())
        while not self._tiered.ready and self._leads():
            await self._rest(self._interval_ms)
        if self._leads():
            self._learn_start()
        while self._leads():
            try:
                # Expiry comes first. While the store is unreachable it fails at once, so that no
                # new copies begin, each of which would leave records in the topic and objects to
                # delete.
                refused = await self._expire()
                await self._copy_all()
                if refused is not None:
                    raise refused
                failures = 0
            except Stopped:
                break
            except (RemoteStoreError, NotPublished, SegmentGone) as error:
                failures += 1
                if failures == 1:
                    # One message is enough: an unreachable store is tried for as long as it is
                    # unreachable.
                    self._log.warning("remote storage failed", partition=str(self._tiered.partition.partition), error=str(error))
            except SegmentDamaged as damage:
                failures += 1
                self._log.error(
                    "a segment is damaged and is not copied", partition=str(self._tiered.partition.partition), error=str(damage)
                )
            except OSError as error:
                self._on_disk_failure(self._tiered.partition, error)
                break
            await self._rest(self._waits.wait_ms(failures, self._entropy) if failures else self._interval_ms)

    async def _rest(self, wait_ms: int) -> None:
        self._wake.clear()
        if self._stopped.is_set():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), wait_ms / 1000)

    def _learn_start(self) -> None:
        """An earlier leader may have deleted the oldest segments without every replica having
        learned the new start."""
        partition = self._tiered.partition
        log = partition.log
        earliest = earliest_remote_offset(self._tiered.catalogue, log.leader_epochs.entries)
        if earliest is not None and log.log_start_offset < earliest <= log.local_start_offset:
            log.advance_start(min(earliest, partition.high_watermark))

    # -- copying -----------------------------------------------------------------------------------

    async def _copy_all(self) -> None:
        tiered = self._tiered
        while self._leads():
            # The log may be another one after every copy, because replicas move between
            # directories.
            log = tiered.partition.log
            if log.settings.remote_copy_disabled:
                return
            tiered.learn_remote_end()
            plan = next_copy(
                tiered.uncopied_segments(),
                log.leader_epochs.entries,
                copied_offset=tiered.copied_offset,
                log_start_offset=log.log_start_offset,
                last_stable_offset=tiered.partition.last_stable_offset,
            )
            if plan is None:
                return
            await self._copy(plan)

    async def _copy(self, plan: CopyPlan) -> None:
        storage, tiered = self._storage, self._tiered
        segment_id = RemoteSegmentId(tiered.id, Uuid(random_uuid(self._entropy)))
        metadata = plan.metadata(segment_id, broker_id=storage.node_id, now_ms=storage.clock.wall_ms())
        tiered.being_copied.add(segment_id)
        try:
            await storage.publish(metadata)
            await self._upload(plan, metadata)
            await self._finish(metadata)
        finally:
            tiered.being_copied.discard(segment_id)

    async def _upload(self, plan: CopyPlan, metadata: RemoteSegmentMetadata) -> None:
        storage, log = self._storage, self._tiered.partition.log
        topic = metadata.id.partition.topic
        segment = next((each for each in log.segments if each.base_offset == plan.segment.base_offset), None)
        if segment is None or not self._leads():
            await storage.remove(metadata)
            raise SegmentGone(f"the segment at {plan.segment.base_offset} went away before it was copied")
        storage.metrics.copies(topic).value += 1
        copy = SegmentCopy(log.disk, log.directory, segment, plan, metadata)
        try:
            await storage.copiers.run(lambda: copy.run(storage.store, storage.names, self._take))
        except (RemoteStoreError, SegmentGone, SegmentDamaged, Stopped) as error:
            if not isinstance(error, Stopped):
                storage.metrics.copy_errors(topic).value += 1
            await self._clean_up(metadata)
            raise
        finally:
            copy.release()
        storage.metrics.copied_bytes(topic).value += metadata.size_bytes

    def _take(self, size_bytes: int) -> None:
        """Wait for the quota; called on the copier's thread."""
        self._quota.take(size_bytes, self._stopped)

    async def _clean_up(self, metadata: RemoteSegmentMetadata) -> None:
        """Delete the objects of a failed copy. If that fails too, expiry finds them in the
        catalogue."""
        with suppress(RemoteStoreError, NotPublished):
            await self._storage.remove(metadata)

    async def _finish(self, metadata: RemoteSegmentMetadata) -> None:
        finished = self._storage.update(metadata, SegmentState.COPY_SEGMENT_FINISHED)
        failures = 0
        while True:
            try:
                await self._storage.publish(finished)
            except NotPublished:
                if not self._leads():
                    raise
                failures += 1
                await asyncio.sleep(self._waits.wait_ms(failures, self._entropy) / 1000)
            else:
                self._tiered.learn_remote_end()
                return

    # -- expiry ------------------------------------------------------------------------------------

    async def _expire(self) -> StoreRefused | None:
        """Delete expired segments. Returns the refusal of the store, if any, that need not keep the
        task from copying."""
        tiered = self._tiered
        partition = tiered.partition
        log = partition.log
        refused: StoreRefused | None = None
        entries = log.leader_epochs.entries
        if not entries or entries[0].start_offset > log.log_start_offset:
            # The log does not know all of its own past, so it cannot tell which segments belong to
            # another history.
            return None
        remote_end = tiered.copied_offset + 1
        plan = plan_expiry(
            tiered.catalogue,
            log.leader_epochs.entries,
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
            local_only_bytes=sum(segment.size_bytes for segment in log.segments if segment.next_offset > remote_end),
            retention_ms=log.settings.retention_ms if log.settings.deletes else -1,
            retention_bytes=log.settings.retention_bytes if log.settings.deletes else -1,
            now_ms=self._storage.clock.wall_ms(),
            being_copied=tiered.being_copied,
        )
        if plan.log_start_offset is not None and plan.log_start_offset > log.log_start_offset:
            log.advance_start(min(plan.log_start_offset, partition.high_watermark))
            # The start is durable before any segment goes: a restarted broker must not promise
            # records that are gone.
            await self._write_starts(partition)
        for expiring in plan.expiring:
            if not self._leads():
                break
            self._log.info(
                "remote segment let go",
                partition=str(partition.partition),
                offsets=f"{expiring.segment.start_offset} to {expiring.segment.end_offset}",
                reason=expiring.reason.value,
            )
            try:
                await self._storage.remove(expiring.segment)
            except StoreRefused as error:
                refused = error
        return refused
