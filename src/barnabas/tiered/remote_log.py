"""Tiered storage of one broker: which of its partitions are tiered, and what the broker does for
each of them.

    hosts a tiered partition -> reads its catalogue from ``__remote_log_metadata``, and follows it
    leads it                 -> in addition, a :class:`LeaderTask` copies and expires segments
    the topic is deleted, or remote storage is turned off for it
                             -> the broker that led it deletes everything remote

This is a publisher of metadata, after the one that creates the replicas. A partition that is not
tiered costs only a look at each change of metadata.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.config.keys import ConfigError
from barnabas.config.remote_metadata_topic import MetadataTopicSettings
from barnabas.controller.internal_topics import InternalTopics
from barnabas.metadata.applier import MetadataView
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.cannot_start import CannotStart
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.model.topic_names import REMOTE_LOG_METADATA
from barnabas.node_context import NodeContext
from barnabas.replication.follower_fetch import TieredStart
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.partition import Partition
from barnabas.replication.reads import PartitionRead
from barnabas.storage.finding_by_time import TimestampOffset
from barnabas.tiered.follower_start import FollowerStarts
from barnabas.tiered.leader_task import LeaderTask
from barnabas.tiered.metadata.metadata_topic import MetadataTopic
from barnabas.tiered.quota import RemoteQuota
from barnabas.tiered.reading.index_cache import RemoteIndexCache
from barnabas.tiered.reading.reader import RemoteReader
from barnabas.tiered.reading.remote_reads import RemoteReads
from barnabas.tiered.remote_metrics import RemoteMetrics, register_readings
from barnabas.tiered.remote_storage import RemoteStorage
from barnabas.tiered.removals import Key, Removals
from barnabas.tiered.store.object_names import ObjectNames
from barnabas.tiered.store.open_store import open_store
from barnabas.tiered.tiered_partition import TieredPartition
from barnabas.tiered.workers import Workers


class RemoteLog:
    def __init__(
        self,
        context: NodeContext,
        replicas: LocalReplicas,
        metadata: MetadataView,
        others: OtherBrokers,
        internal_topics: InternalTopics,
        *,
        cache_directory: str,
    ) -> None:
        """``cache_directory`` is the log directory in which indexes of remote segments are cached.
        Raises :class:`CannotStart` when the settings of the store are invalid."""
        settings, clock = context.settings, context.clock
        self._context = context
        self._replicas = replicas
        self._metadata = metadata
        self._tiered: dict[Key, TieredPartition] = {}
        self._tasks: dict[Key, LeaderTask] = {}
        self._stopped = False
        integer = settings.integer
        url = settings.text("remote.log.storage.url")
        prefix = "remote.log.storage.config."
        options = {name.removeprefix(prefix): text for name, text in settings.of_plugins.items() if name.startswith(prefix)}
        try:
            store, names = open_store(url, options, context.disk), ObjectNames(context.cluster_id)
            topic_settings = MetadataTopicSettings.of(settings)
        except ConfigError as error:
            raise CannotStart(str(error)) from error
        indexes = RemoteIndexCache(
            context.disk, cache_directory, store, names, size_bytes_max=integer("remote.log.index.file.cache.total.size.bytes")
        )
        self.topic = MetadataTopic(context, topic_settings, replicas, metadata, others, internal_topics)
        self._storage = RemoteStorage(
            node_id=context.node_id,
            store=store,
            names=names,
            indexes=indexes,
            topic=self.topic,
            clock=clock,
            metrics=RemoteMetrics(context.metrics),
            copiers=Workers("remote-copy", self._live("remote.log.manager.copier.thread.pool.size")),
            expirers=Workers("remote-expiry", self._live("remote.log.manager.expiration.thread.pool.size")),
        )
        self._copy_quota, self._fetch_quota = (
            RemoteQuota(
                self._live(f"remote.log.manager.{what}.max.bytes.per.second"),
                clock,
                windows=integer(f"remote.log.manager.{what}.quota.window.num"),
                window_seconds=integer(f"remote.log.manager.{what}.quota.window.size.seconds"),
            )
            for what in ("copy", "fetch")
        )
        self._readers = Workers(
            "remote-read",
            self._live("remote.log.reader.threads"),
            waiting_max=self._live("remote.log.reader.max.pending.tasks"),
        )
        self._reader = RemoteReader(store, names, indexes)
        self._reads = RemoteReads(self._reader, self._readers, self._fetch_quota, self._storage.metrics, context.log, self.tiered)
        self._starts = FollowerStarts(self._storage, context.log, self.tiered, self._disk_failed, self._write_starts)
        self._removals = Removals(context, self._storage, replicas, lambda: metadata.image, on_done=self._look)
        register_readings(context.metrics, self._readers, indexes, self._tiered)

    def _live(self, name: str) -> Callable[[], int]:
        """A function that returns the present value of a setting."""

        def read() -> int:
            value = self._metadata.effective.broker[name]
            assert isinstance(value, int)
            return value

        return read

    def tiered(self, partition: Partition) -> TieredPartition | None:
        found = self._tiered.get((partition.topic_id, partition.partition.partition))
        return found if found is not None and found.partition is partition else None

    def _disk_failed(self, partition: Partition, error: OSError) -> None:
        self._replicas.disk_failed(partition.directory, error)

    # -- for requests ------------------------------------------------------------------------------

    def read(
        self, partition: Partition, offset: int, *, size_bytes_max: int, at_least_one: bool, committed: bool
    ) -> Promise[PartitionRead]:
        return self._reads.read(partition, offset, size_bytes_max=size_bytes_max, at_least_one=at_least_one, committed=committed)

    def offset_for_timestamp(self, partition: Partition, timestamp: int) -> Promise[TimestampOffset | ErrorCode | None]:
        return self._reads.offset_for_timestamp(partition, timestamp)

    def begin_following(self, partition: Partition, start: TieredStart, built: Callable[[bool], None]) -> None:
        self._starts.build(partition, start, built)

    # -- metadata ----------------------------------------------------------------------------------

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        known = len(self._tiered)
        for topic in delta.topics.deleted.values():
            self._topic_deleted(topic, image)
        for topic, index in delta.topics.changed_partitions():
            self._look(topic.topic_id, index)
            if topic.name == REMOTE_LOG_METADATA and image.topics.by_id[topic.topic_id].partitions[index].leader == self._context.node_id:
                self._removals.sweep_soon(index)
        for resource in delta.configs.changed:
            if resource.type == ResourceType.TOPIC:
                for partition in self._replicas.by_topic.get(resource.name, {}).values():
                    self._look(partition.topic_id, partition.partition.partition)
            else:
                self._storage.indexes.resize(_whole(effective, "remote.log.index.file.cache.total.size.bytes"))
        if len(self._tiered) > known:
            await self._write_all_starts()
        await self.topic.publish(delta, image, effective)

    async def _write_all_starts(self) -> None:
        """Write down the log start offsets of tiered logs before the first of their segments leaves
        this disk: nothing else here would have them then."""
        for directory in {partition.directory.path: partition.directory for partition in self._replicas}.values():
            write = directory.start_offset_checkpoint() if directory.online else None
            if write is None:
                continue
            try:
                await asyncio.get_running_loop().run_in_executor(self._context.executor, write)
            except OSError as error:
                self._replicas.disk_failed(directory, error)

    def _look(self, topic_id: Uuid, index: int) -> None:
        """Start or stop the work for a partition, by its settings and its role."""
        key = (topic_id, index)
        partition = self._replicas.by_id(topic_id, index)
        tiered = self._tiered.get(key)
        if tiered is not None and tiered.partition is not partition:
            # The replica moved to another broker, which continues from the metadata topic.
            self._forget(key)
            tiered = None
        if partition is None or key in self._removals:
            # A partition whose remote data is being removed is looked at again when that is done:
            # remote storage may have been turned on again in the meantime.
            return
        if not partition.log.settings.remote_enabled:
            if tiered is not None:
                self._turn_off(key, tiered)
            return
        if tiered is None:
            tiered = self._tiered[key] = TieredPartition(partition, self.topic, self._ignored)
        task = self._tasks.get(key)
        if task is not None and (not partition.leads or task.leader_epoch != partition.leader_epoch):
            task.stop()
            del self._tasks[key]
            task = None
        tiered.learn_remote_end()
        if task is not None:
            task.wake()
        elif partition.leads:
            self._tasks[key] = LeaderTask(
                tiered,
                self._storage,
                self._copy_quota,
                self._context.settings,
                self._context.entropy,
                self._context.log,
                on_disk_failure=self._disk_failed,
                write_starts=self._write_starts,
            )

    def _ignored(self, partition: TopicPartition, why: str) -> None:
        self._context.log.debug("an event of remote metadata was ignored", partition=str(partition), reason=why)

    def _forget(self, key: Key) -> asyncio.Future[None] | None:
        """The future is done once nothing of the partition goes to the store any more."""
        tiered, task = self._tiered.pop(key), self._tasks.pop(key, None)
        self.topic.unsubscribe(tiered.id)
        return task.stop() if task is not None else None

    def _write_starts(self, partition: Partition) -> asyncio.Future[None]:
        write = partition.directory.start_offset_checkpoint()
        loop = asyncio.get_running_loop()
        if write is None:
            done: asyncio.Future[None] = loop.create_future()
            done.set_result(None)
            return done
        return loop.run_in_executor(self._context.executor, write)

    # -- removing ----------------------------------------------------------------------------------

    def _topic_deleted(self, topic: TopicImage, image: MetadataImage) -> None:
        for index, partition in topic.partitions.items():
            key = (topic.topic_id, index)
            tiered = self._tiered.get(key)
            if tiered is None:
                continue
            if self._removes(partition, image):
                self._remove(key, tiered, deleted=True)
            else:
                self._forget(key)
        self._storage.metrics.forget(topic.name)

    def _removes(self, partition: PartitionImage, image: MetadataImage) -> bool:
        """The leader removes the data; for a partition without a leader, the first replica that is
        alive."""
        if partition.leader >= 0:
            return partition.leader == self._context.node_id
        brokers = image.cluster.brokers
        alive = [each for each in partition.replicas if each in brokers and not brokers[each].fenced]
        return alive[:1] == [self._context.node_id]

    def _turn_off(self, key: Key, tiered: TieredPartition) -> None:
        """From now on the log begins with its local part."""
        log = tiered.partition.log
        log.advance_start(max(log.log_start_offset, log.local_start_offset))
        log.remote_end_offset = -1
        if tiered.partition.leads:
            self._remove(key, tiered, deleted=False)
        else:
            self._forget(key)

    def _remove(self, key: Key, tiered: TieredPartition, *, deleted: bool) -> None:
        """``deleted`` is true when the partition itself is deleted, and not only its remote
        data."""
        del self._tiered[key]
        self._removals.begin(key, tiered, self._tasks.pop(key, None), deleted=deleted)

    def stop(self) -> None:
        self._stopped = True
        for task in self._tasks.values():
            task.stop()
        self._removals.stop()
        self.topic.stop()
        for workers in (self._storage.copiers, self._storage.expirers, self._readers):
            workers.stop()
        self._reader.close()
        self._storage.store.close()


def _whole(effective: EffectiveConfigs, name: str) -> int:
    value = effective.broker[name]
    assert isinstance(value, int)
    return value
