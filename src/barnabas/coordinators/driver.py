"""Runs the shards of one coordinator: loads the shards whose partition this node leads, and wakes
them when their timers are due.

The driver is a publisher of metadata, because leadership of the internal topic's partitions decides
which shards are loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from errno import EIO
from functools import partial
from typing import Any, Generic, TypeVar

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.record import RecordTypes
from barnabas.coordinators.runtime import CoordinatorRuntime, Machine
from barnabas.coordinators.topic_log import CoordinatorTopicLog
from barnabas.env.clock import Clock
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.records.batch_header import NO_SEQUENCE
from barnabas.records.compression import Codec
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.telemetry.logs import EventLog

# The longest time that loading a shard may block the event loop.
LOADING_SLICE_MS_MAX = 10

M = TypeVar("M", bound=Machine)


class CoordinatorDriver(Generic[M]):
    def __init__(
        self,
        topic: str,
        make: Callable[[int], M],
        types: RecordTypes,
        *,
        node_id: int,
        replicas: LocalReplicas,
        clock: Clock,
        log: EventLog,
        on_effect: Callable[[int, Any], None],
        partition_count: Callable[[], int],
        commit_ms_max: int,
        codec: Codec = Codec.NONE,
        base_sequence: int = NO_SEQUENCE,
    ) -> None:
        self._topic = topic
        self._node_id = node_id
        self._replicas = replicas
        self._clock = clock
        self._log = log
        self.runtime: CoordinatorRuntime[M] = CoordinatorRuntime(
            make,
            types,
            CoordinatorTopicLog(topic, replicas, clock),
            on_effect=on_effect,
            on_deadline=self._wake_at,
            codec=codec,
            base_sequence=base_sequence,
            commit_ms_max=commit_ms_max,
        )
        self.coordinator: Coordinator[M] = Coordinator(topic, self.runtime, clock, partition_count)
        self._loading: set[asyncio.Task[None]] = set()
        # Of the shards that are loaded together, for one line of the log about all of them.
        self._loading_since_ms = 0
        self._loaded, self._replayed = 0, 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0

    # -- leadership --------------------------------------------------------------------------------

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        active, lost = set(self.runtime.active_partitions), 0
        for topic in delta.topics.deleted.values():
            if topic.name == self._topic:
                for index in topic.partitions:
                    self.runtime.unload(index)
        mine = image.topics.by_name.get(self._topic)
        for index in delta.topics.changed_in(mine.topic_id) if mine is not None else ():
            assert mine is not None
            partition = mine.partitions[index]
            if partition.leader != self._node_id:
                lost += index in active
                self.runtime.unload(index)
            elif self.runtime.begin_loading(index, partition.leader_epoch):
                if not self._loading:
                    self._loading_since_ms, self._loaded, self._replayed = self._clock.monotonic_ms(), 0, 0
                task = asyncio.get_running_loop().create_task(self._load(index, partition.leader_epoch))
                self._loading.add(task)
                task.add_done_callback(partial(self._load_ended, index, partition.leader_epoch))
        if lost:
            self._log.info("coordinator unloaded", topic=self._topic, shards=lost)

    async def _load(self, index: int, epoch: int) -> None:
        replica = self._replicas.get(self._topic, index)
        if replica is None or not replica.leads:
            self._give_up(index, epoch)
            return
        log = replica.log
        offset = log.log_start_offset
        slice_ends_ms = self._clock.monotonic_ms() + LOADING_SLICE_MS_MAX
        # Markers may be appended meanwhile, so the shard is loaded only when the end is reached and
        # nothing follows. The log may also be replaced by its copy in another directory.
        while offset < (log := replica.log).log_end_offset:
            before = offset
            for header, batch in log.batches(offset, log.log_end_offset):
                if not self.runtime.replay_batch(index, epoch, batch):
                    return
                offset = header.last_offset + 1
                if self._clock.monotonic_ms() > slice_ends_ms:
                    await asyncio.sleep(0)
                    slice_ends_ms = self._clock.monotonic_ms() + LOADING_SLICE_MS_MAX
            if offset == before:
                if not replica.leads or replica.leader_epoch != epoch:
                    # A follower may truncate its log under this reader; the metadata that unloads
                    # the shard is on its way.
                    return
                raise OSError(EIO, f"nothing can be read at offset {offset}", log.directory)
        self.runtime.finish_loading(index, epoch, offset, self._clock.wall_ms())
        self._loaded += 1
        self._replayed += offset - log.log_start_offset

    def _load_ended(self, index: int, epoch: int, task: asyncio.Task[None]) -> None:
        self._loading.discard(task)
        if not self._loading and self._loaded:
            seconds = (self._clock.monotonic_ms() - self._loading_since_ms) / 1000
            self._log.info("coordinator loaded", topic=self._topic, shards=self._loaded, records=self._replayed, seconds=seconds)
        failure = None if task.cancelled() else task.exception()
        if failure is None:
            return
        self._give_up(index, epoch)
        replica = self._replicas.get(self._topic, index)
        if isinstance(failure, OSError) and replica is not None:
            self._replicas.disk_failed(replica.directory, failure)
        self._log.error("coordinator cannot read its log", topic=self._topic, partition=index, error=str(failure), exc_info=failure)

    def _give_up(self, index: int, epoch: int) -> None:
        """Do not unload the shard of a later epoch: another task is loading that one."""
        if self.runtime.epoch_of(index) == epoch:
            self.runtime.unload(index)

    # -- time --------------------------------------------------------------------------------------

    def _wake_at(self, deadline_ms: int) -> None:
        if self._alarm is not None:
            if self._alarm_ms <= deadline_ms:
                return
            self._alarm.cancel()
        self._alarm_ms = deadline_ms
        delay_ms = max(0, deadline_ms - self._clock.wall_ms())
        self._alarm = asyncio.get_running_loop().call_later(delay_ms / 1000, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.runtime.tick(self._clock.wall_ms())
        deadline_ms = self.runtime.next_deadline_ms
        if deadline_ms is not None:
            self._wake_at(deadline_ms)

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._loading:
            task.cancel()


def no_effects(_: int, effect: Any) -> None:
    raise AssertionError(f"unexpected effect: {effect}")


def partition_count_of(topic: str, image: Callable[[], MetadataImage]) -> Callable[[], int]:
    def count() -> int:
        found = image().topics.by_name.get(topic)
        return len(found.partitions) if found is not None else 0

    return count
