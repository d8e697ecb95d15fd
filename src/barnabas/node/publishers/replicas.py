"""Makes this node's logs and roles follow the metadata: new partitions get a log, changed ones their role, deleted ones go.

Files are made and removed on a worker thread; everything about a :class:`Partition` happens on the loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.env.clock import Clock
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.metadata.cluster import LOST_DIRECTORY
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.surroundings import Surroundings
from barnabas.replication.topic_counters import TopicCounters, forget_topic
from barnabas.storage.log import Log
from barnabas.storage.log_directory import FoundLog, LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.logs import Log as EventLog
from barnabas.telemetry.metrics import Metrics

# Directories are handed to the worker thread this many at a time, so that one giant topic does not hold it for seconds.
CREATED_AT_ONCE = 100


class ReplicaPublisher:
    def __init__(
        self,
        node_id: int,
        replicas: LocalReplicas,
        found: dict[TopicPartition, tuple[LogDirectory, FoundLog]],
        *,
        clock: Clock,
        entropy: Entropy,
        executor: Executor,
        metrics: Metrics,
        log: EventLog,
        on_placed: Callable[[Uuid, int, LogDirectory], None],
        on_new_log: Callable[[Log], None],
        surroundings: Surroundings | None = None,
        on_role: Callable[[Partition], None] = lambda _: None,
        on_removed: Callable[[Partition], None] = lambda _: None,
        on_lost: Callable[[Uuid, int], None] = lambda _, __: None,
    ) -> None:
        """``found`` are the logs that were on disk at start; what the first image does not claim is put aside as stray.

        ``on_placed`` hears of replicas whose directory the metadata does not know yet; ``on_role`` of every replica whose role was
        looked at, and perhaps changed; ``on_removed`` of those that are gone;
        ``on_lost`` of those whose bytes are damaged, so that the controller lets nobody lead or count with them.
        """
        self._node_id = node_id
        self._replicas = replicas
        self._found = found
        self._clock = clock
        self._entropy = entropy
        self._executor = executor
        self._metrics = metrics
        self._log = log
        self._on_placed = on_placed
        self._on_new_log = on_new_log
        self._surroundings = surroundings or Surroundings()
        self._on_role = on_role
        self._on_removed = on_removed
        replicas.on_damage = lambda partition: on_lost(partition.topic_id, partition.partition.partition)
        self._counters: dict[str, TopicCounters] = {}
        self._removals: set[asyncio.TimerHandle] = set()

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        self._throttle(delta, effective)
        for topic in delta.topics.deleted.values():
            self._delete(topic)
        wanted = []
        moved = []
        for topic, index in delta.topics.changed_partitions():
            partition = image.topics.by_id[topic.topic_id].partitions[index]
            known = self._replicas.by_id(topic.topic_id, index)
            if self._node_id not in partition.replicas:
                if known is not None:
                    moved.append(known)
            elif known is not None:
                self._follow(known, partition)
            else:
                wanted.append((TopicPartition(topic.name, index), topic.topic_id, partition))
        self._remove(moved)
        for start in range(0, len(wanted), CREATED_AT_ONCE):
            await self._create(wanted[start : start + CREATED_AT_ONCE], effective)

    def _throttle(self, delta: MetadataDelta, effective: EffectiveConfigs) -> None:
        throttles, changed = self._replicas.throttles, delta.configs.changed
        if changed:
            throttles.follow_broker(effective.broker)
        for resource in changed:
            if resource.type == ResourceType.TOPIC:
                throttles.follow_topic(resource.name, effective.topic(resource.name), self._node_id)

    async def _create(self, wanted: list[tuple[TopicPartition, Uuid, PartitionImage]], effective: EffectiveConfigs) -> None:
        settings: dict[str, LogSettings] = {}
        plans = []
        for partition, topic_id, image in wanted:
            if partition.topic not in settings:
                settings[partition.topic] = LogSettings.from_topic_config(effective.topic(partition.topic))
            found = self._claim(partition, topic_id, image)
            if found is not None:
                directory, old = found
                old.log.configure(settings[partition.topic])
                self._add(partition, topic_id, old.log, directory, old.high_watermark, image)
                continue
            chosen = self._directory_for(image)
            if chosen is None:
                self._log.error("no directory for a replica", partition=str(partition))
                continue
            plans.append((partition, topic_id, image, chosen))
            # Counted at once, so that the next replica of this round goes elsewhere.
            chosen.reserved += 1
        if not plans:
            return
        now_ms = self._clock.wall_ms()
        made = await asyncio.get_running_loop().run_in_executor(
            self._executor,
            lambda: [
                _make(directory, partition, topic_id, settings[partition.topic], now_ms) for partition, topic_id, _, directory in plans
            ],
        )
        for (partition, topic_id, image, directory), log in zip(plans, made, strict=True):
            directory.reserved -= 1
            if isinstance(log, OSError):
                self._replicas.disk_failed(directory, log)
                continue
            directory.add(log)
            self._on_new_log(log)
            self._add(partition, topic_id, log, directory, 0, image)

    def _claim(self, partition: TopicPartition, topic_id: Uuid, image: PartitionImage) -> tuple[LogDirectory, FoundLog] | None:
        """A log that was found at start and belongs to this very topic. One that belonged to another of the same name makes room, and so
        does one that was damaged when this node stopped."""
        found = self._found.pop(partition, None)
        if found is None or (found[1].topic_id in (topic_id, None) and not self._is_lost(image)):
            return found
        name = found[0].mark_stray(partition, Uuid(random_uuid(self._entropy)))
        self._log.warning("a partition that is damaged, or of another topic with this name, was put aside", directory=name)
        return None

    def _is_lost(self, image: PartitionImage) -> bool:
        """Whether nobody counts with what this node has of the partition."""
        return image.directory_of(self._node_id) == LOST_DIRECTORY and self._node_id not in image.isr

    def _directory_for(self, image: PartitionImage) -> LogDirectory | None:
        """None where there is nowhere to go, or where the replica may lie in a directory that failed: a new and empty log elsewhere
        would be taken for the partition. A directory that is unknown, while none has failed, belonged to another machine with this
        node's id: what it held is gone, and the controller has been told so (it was no clean start)."""
        assigned = image.directory_of(self._node_id)
        if assigned == ZERO_UUID or self._is_lost(image):
            return self._replicas.roomiest_directory()
        known = next((each for each in self._replicas.directories if each.directory_id == assigned), None)
        if known is None and self._replicas.all_online:
            return self._replicas.roomiest_directory()
        return known if known is not None and known.online else None

    def _add(
        self, partition: TopicPartition, topic_id: Uuid, log: Log, directory: LogDirectory, high_watermark: int, image: PartitionImage
    ) -> None:
        counters = self._counters.get(partition.topic)
        if counters is None:
            counters = self._counters[partition.topic] = TopicCounters(self._metrics, partition.topic)
        replica = Partition(
            partition,
            topic_id,
            log,
            directory,
            node_id=self._node_id,
            high_watermark=high_watermark,
            counters=counters,
            surroundings=self._surroundings,
        )
        self._replicas.add(replica)
        self._follow(replica, image)
        if image.directory_of(self._node_id) != directory.directory_id:
            self._on_placed(topic_id, partition.partition, directory)

    def _follow(self, replica: Partition, image: PartitionImage) -> None:
        try:
            replica.follow_metadata(image, self._clock.monotonic_ms())
        except OSError as error:
            self._replicas.disk_failed(replica.directory, error)
            replica.resign()
        if replica.online and image.directory_of(self._node_id) == LOST_DIRECTORY:
            # It was damaged, and has dropped what was: it may be fetched again and count again.
            self._on_placed(replica.topic_id, replica.partition.partition, replica.directory)
        self._on_role(replica)

    # -- removing -------------------------------------------------------------------------------------------------------------

    def _delete(self, topic: TopicImage) -> None:
        found = (self._replicas.by_id(topic.topic_id, index) for index in topic.partitions)
        self._remove([replica for replica in found if replica is not None])
        self._counters.pop(topic.name, None)
        forget_topic(self._metrics, topic.name)

    def _remove(self, replicas: list[Partition]) -> None:
        """Of topics that were deleted, and those that were moved to other brokers."""
        marked: list[tuple[LogDirectory, str]] = []
        delay_ms = 0
        for replica in replicas:
            self._replicas.remove(replica.partition)
            self._on_removed(replica)
            if replica.directory.online:
                delay_ms = replica.log.settings.file_delete_delay_ms
                try:
                    path = replica.directory.mark_deleted(replica.partition, Uuid(random_uuid(self._entropy)))
                    marked.append((replica.directory, path))
                except OSError as error:
                    self._replicas.disk_failed(replica.directory, error)
        if marked:
            self._remove_later(marked, delay_ms)

    def _remove_later(self, marked: list[tuple[LogDirectory, str]], delay_ms: int) -> None:
        """Readers that hold file regions of a deleted topic have this long to finish."""
        loop = asyncio.get_running_loop()

        def remove() -> None:
            self._removals.discard(handle)
            for directory, path in marked:
                removed = loop.run_in_executor(self._executor, directory.remove_marked, path)
                removed.add_done_callback(lambda done, directory=directory: self._removed(done, directory))  # type: ignore[misc]

        handle = loop.call_later(delay_ms / 1000, remove)
        self._removals.add(handle)

    def _removed(self, done: asyncio.Future[None], directory: LogDirectory) -> None:
        failure = None if done.cancelled() else done.exception()
        if isinstance(failure, OSError):
            self._replicas.disk_failed(directory, failure)

    def put_strays_aside(self) -> list[str]:
        """What was on disk and no topic claims: kept under a name that says so. The new names."""
        names = []
        for partition, (directory, _) in list(self._found.items()):
            names.append(directory.mark_stray(partition, Uuid(random_uuid(self._entropy))))
            del self._found[partition]
        return names

    def close(self) -> None:
        for handle in self._removals:
            handle.cancel()


def _make(directory: LogDirectory, partition: TopicPartition, topic_id: Uuid, settings: LogSettings, now_ms: int) -> Log | OSError:
    try:
        return directory.create(partition, topic_id, settings, now_ms=now_ms)
    except OSError as error:
        return error
