"""Deletes all remote data of a partition: its topic was deleted, or remote storage was turned off
for it.

The deletion is repeated until it succeeds. For a deleted partition a mark is written first, and a
second record when everything is deleted: if the broker dies in between, the next leader of that
partition of the metadata topic finds the mark and finishes the deletion.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence

from barnabas.env.awaiting import awaited
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import Uuid
from barnabas.model.topic_names import REMOTE_LOG_METADATA
from barnabas.node_context import NodeContext
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.tiered.leader_task import LeaderTask
from barnabas.tiered.leftovers import leftovers_of
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemotePartitionDelete, RemoteSegmentMetadata
from barnabas.tiered.metadata.segment_state import PartitionDeleteState
from barnabas.tiered.remote_storage import NotPublished, RemoteStorage
from barnabas.tiered.retries import RetryWaits
from barnabas.tiered.store.store import RemoteStoreError
from barnabas.tiered.tiered_partition import TieredPartition

Key = tuple[Uuid, int]


class Removals:
    def __init__(
        self,
        context: NodeContext,
        storage: RemoteStorage,
        replicas: LocalReplicas,
        image: Callable[[], MetadataImage],
        *,
        on_done: Callable[[Uuid, int], None],
    ) -> None:
        """``on_done`` receives each partition that has no remote data any more."""
        self._context = context
        self._storage = storage
        self._replicas = replicas
        self._image = image
        self._on_done = on_done
        self._waits = RetryWaits.of(context.settings)
        self._under_way: dict[Key, asyncio.Task[None]] = {}
        # By partition of the metadata topic.
        self._sweep_timers: dict[int, asyncio.TimerHandle] = {}
        self._sweeps: dict[int, asyncio.Task[None]] = {}
        self._stopped = False

    def __contains__(self, key: Key) -> bool:
        return key in self._under_way

    def begin(self, key: Key, tiered: TieredPartition, task: LeaderTask | None, *, deleted: bool) -> None:
        """``deleted`` is true when the partition itself is deleted, and not only its remote data.
        The subscription stays until the end, because published events come back through it."""
        self._begin(key, self._remove_all(tiered, task, deleted=deleted), lambda: self._storage.topic.unsubscribe(tiered.id))

    def _begin(self, key: Key, removal: Coroutine[None, None, None], at_end: Callable[[], None]) -> None:
        task = self._under_way[key] = asyncio.get_running_loop().create_task(removal)

        def ended(done: asyncio.Task[None]) -> None:
            del self._under_way[key]
            at_end()
            failure = None if done.cancelled() else done.exception()
            if failure is not None:
                self._context.log.error("remote data was not removed", error=repr(failure))
            if not self._stopped:
                self._on_done(*key)

        task.add_done_callback(ended)

    async def _remove_all(self, tiered: TieredPartition, task: LeaderTask | None, *, deleted: bool) -> None:
        if task is not None:
            await task.stop()
        await awaited(tiered.subscription.ready)
        await self._remove(tiered.id, tiered.catalogue.segments(), deleted=deleted)

    async def _remove(self, partition: RemotePartition, segments: Sequence[RemoteSegmentMetadata], *, deleted: bool) -> None:
        steps: deque[PartitionDeleteState | RemoteSegmentMetadata] = deque(segments)
        if deleted:
            steps.appendleft(PartitionDeleteState.DELETE_PARTITION_MARKED)
            steps.append(PartitionDeleteState.DELETE_PARTITION_FINISHED)
        failures = 0
        while steps:
            step = steps[0]
            try:
                if isinstance(step, PartitionDeleteState):
                    await self._publish_state(partition, step)
                else:
                    await self._storage.remove(step)
            except (RemoteStoreError, NotPublished) as error:
                failures += 1
                if failures == 1:
                    self._context.log.warning("remote data cannot be removed yet", partition=str(partition), error=str(error))
                await asyncio.sleep(self._waits.wait_ms(failures, self._context.entropy) / 1000)
            else:
                failures = 0
                steps.popleft()

    async def _publish_state(self, partition: RemotePartition, state: PartitionDeleteState) -> None:
        now_ms = self._context.clock.wall_ms()
        await self._storage.publish(RemotePartitionDelete(partition, state, broker_id=self._context.node_id, event_timestamp=now_ms))

    # -- unfinished deletions of other brokers -----------------------------------------------------

    def sweep_soon(self, index: int) -> None:
        """This broker has become the leader of a partition of the metadata topic."""
        wait_ms = self._context.settings.integer("remote.log.manager.task.interval.ms")
        timer = self._sweep_timers.pop(index, None)
        if timer is not None:
            timer.cancel()
        self._sweep_timers[index] = asyncio.get_running_loop().call_later(wait_ms / 1000, self._begin_sweep, index)

    def _begin_sweep(self, index: int) -> None:
        del self._sweep_timers[index]
        if index in self._sweeps:
            self.sweep_soon(index)
            return
        self._sweeps[index] = asyncio.get_running_loop().create_task(self._sweep(index))
        self._sweeps[index].add_done_callback(lambda _: self._sweeps.pop(index))

    async def _sweep(self, index: int) -> None:
        partition = self._replicas.get(REMOTE_LOG_METADATA, index)
        if partition is None or partition.leadership is None:
            return
        if partition.leadership.epoch_start_offset > partition.high_watermark:
            self.sweep_soon(index)
            return
        try:
            found = await leftovers_of(partition, self._image)
        except OSError as error:
            self._replicas.disk_failed(partition.directory, error)
            return
        for owner, segments in found.items():
            key = (owner.topic_id, owner.partition)
            if key not in self and not self._stopped:
                self._begin(key, self._remove(owner, segments, deleted=True), lambda: None)

    def stop(self) -> None:
        self._stopped = True
        for timer in self._sweep_timers.values():
            timer.cancel()
        for task in (*self._under_way.values(), *self._sweeps.values()):
            task.cancel()
