"""Makes this node's replicas follow the metadata: creates logs, changes roles, removes replicas.

A worker thread creates and removes files. Everything about a :class:`Partition` happens on the
loop's thread, a hundred partitions at a time (:mod:`barnabas.env.slices`): each takes its role as a
whole, and no two need to take theirs in the same turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from barnabas.env.disk import out_of_room
from barnabas.env.entropy import random_uuid
from barnabas.env.slices import in_slices
from barnabas.metadata.cluster import LOST_DIRECTORY
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.node_context import NodeContext
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.topic_counters import TopicCounters, forget_topic
from barnabas.storage.delayed_removals import DelayedRemovals
from barnabas.storage.found_logs import FoundIn, FoundLogs
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.catalogue import STRAY_DIRECTORIES
from barnabas.telemetry.logs import named

# The worker thread gets this many new directories at a time, so that one giant topic does not
# occupy it for seconds.
CREATED_AT_ONCE = 100
# The time until the next attempt to create a replica for which there was no room.
ROOM_RETRY_SECONDS = 1.0


class _Wanted(NamedTuple):
    partition: TopicPartition
    topic_id: Uuid
    image: PartitionImage


class ReplicaObserver(Protocol):
    """The parts of a broker that react to its replicas. All calls are on the loop's thread."""

    def placed(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> None:
        """A replica lies in a directory that the metadata does not name."""

    def log_created(self, log: Log) -> None: ...

    def role_changed(self, partition: Partition) -> None:
        """The metadata of a replica was applied; its role may have changed."""

    def removed(self, partition: Partition) -> None:
        """A replica has left this node."""

    def damaged(self, partition: Partition) -> None:
        """A replica found corrupt bytes. It must not lead, nor count as in sync."""

    def copy_found(self, partition: Partition, log: Log, directory: LogDirectory) -> None:
        """A move to another directory was in progress when the node stopped, and left this copy."""


class ReplicaPublisher:
    def __init__(
        self,
        context: NodeContext,
        replicas: LocalReplicas,
        found: FoundLogs,
        removals: DelayedRemovals,
        cluster_view: ClusterView,
        observer: ReplicaObserver,
    ) -> None:
        """``found`` are the logs on disk at start. The ones that the first image does not claim
        are set aside as stray."""
        self._node_id = context.node_id
        self._replicas = replicas
        self._found = found
        self._clock = context.clock
        self._entropy = context.entropy
        self._executor = context.executor
        self._metrics = context.metrics
        self._log = context.log
        self._cluster_view = cluster_view
        self._observer = observer
        replicas.on_damage = observer.damaged
        self._removals = removals
        self._counters: dict[str, TopicCounters] = {}
        # Leaderships that have changed since the last line about them.
        self._taken: list[Partition] = []
        self._lost: list[Partition] = []
        self._retry: asyncio.TimerHandle | None = None
        # Replicas to create when there is room.
        self._unmade: dict[TopicPartition, _Wanted] = {}
        self._retrying: set[asyncio.Task[None]] = set()
        self._full: dict[LogDirectory, None] = {}  # Since the last attempt with all directories.
        # Removed partitions that the checkpoints of their directory still name.
        self._outdated: dict[LogDirectory, set[TopicPartition]] = {}
        self._effective: EffectiveConfigs | None = None
        self._publishing = asyncio.Lock()
        context.metrics.reading(STRAY_DIRECTORIES, lambda: [((each.path,), each.strays) for each in replicas.directories])

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        async with self._publishing:
            await self._publish(delta, image, effective)
            self._report_leadership()

    async def _publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        self._effective = effective
        self._throttle(delta, effective)
        for topic in delta.topics.deleted.values():
            self._delete(topic)
        wanted: list[_Wanted] = []
        moved = []
        async for topic, index in in_slices(delta.topics.changed_partitions()):
            partition = image.topics.by_id[topic.topic_id].partitions[index]
            known = self._replicas.by_id(topic.topic_id, index)
            if self._node_id not in partition.replicas:
                self._unmade.pop(TopicPartition(topic.name, index), None)
                if known is not None:
                    moved.append(known)
                    if known.leads:
                        self._lost.append(known)
            elif known is not None:
                self._follow(known, partition)
            else:
                wanted.append(_Wanted(TopicPartition(topic.name, index), topic.topic_id, partition))
        self._remove(moved)
        if delta.cluster.brokers.changed:
            # After the roles, and before files are created: acknowledgements must not wait for the
            # disk.
            async for replica in in_slices(list(self._replicas)):
                replica.brokers_changed()
        for start in range(0, len(wanted), CREATED_AT_ONCE):
            await self._create(wanted[start : start + CREATED_AT_ONCE], effective)

    def _report_leadership(self) -> None:
        """One line for all partitions of a change of the metadata."""
        for event, changed in (("leadership of partitions taken", self._taken), ("leadership of partitions lost", self._lost)):
            if changed:
                self._log.info(event, count=len(changed), partitions=named([str(each.partition) for each in changed]))
                changed.clear()

    def _throttle(self, delta: MetadataDelta, effective: EffectiveConfigs) -> None:
        throttles, changed = self._replicas.throttles, delta.configs.changed
        if changed:
            throttles.follow_broker(effective.broker)
        for resource in changed:
            if resource.type == ResourceType.TOPIC:
                throttles.follow_topic(resource.name, effective.topic(resource.name), self._node_id)

    async def _create(self, wanted: list[_Wanted], effective: EffectiveConfigs) -> None:
        settings: dict[str, LogSettings] = {}
        plans: list[tuple[_Wanted, LogDirectory]] = []
        for each in wanted:
            partition, topic_id, image = each
            self._unmade.pop(partition, None)
            if partition.topic not in settings:
                settings[partition.topic] = LogSettings.from_topic_config(effective.topic(partition.topic))
            found = self._claim(partition, topic_id, image)
            if found is not None:
                directory, old = found
                old.log.configure(settings[partition.topic])
                self._add(partition, topic_id, old.log, directory, old.high_watermark, image)
                continue
            chosen = self._directory_for(partition, image)
            if chosen is None:
                self._log.error("no directory for a replica", partition=str(partition))
                continue
            plans.append((each, chosen))
            # Count it at once, so that the next replica of this round goes to another directory.
            chosen.reserved += 1
        await self._forget_bounds(plans)
        if not plans:
            return
        now_ms = self._clock.wall_ms()
        made = await asyncio.get_running_loop().run_in_executor(
            self._executor,
            lambda: [_make(directory, each.partition, each.topic_id, settings[each.partition.topic], now_ms) for each, directory in plans],
        )
        for (each, directory), log in zip(plans, made, strict=True):
            directory.reserved -= 1
            if isinstance(log, OSError):
                self._replicas.disk_failed(directory, log)
                if out_of_room(log):
                    self._make_later(each, directory)
                continue
            directory.add(log)
            self._observer.log_created(log)
            self._add(each.partition, each.topic_id, log, directory, 0, each.image)

    def _make_later(self, wanted: _Wanted, full: LogDirectory) -> None:
        """Retry at once in another directory, if there is one; otherwise when there may be room.

        A directory that the metadata names is not replaced by another.
        """
        self._unmade[wanted.partition] = wanted
        news = full not in self._full
        self._full[full] = None
        if self._retry is None:
            others = any(each.online and not each.cordoned and each not in self._full for each in self._replicas.directories)
            at_once = news and others
            self._retry = asyncio.get_running_loop().call_later(0 if at_once else ROOM_RETRY_SECONDS, self._try_again)
            if not at_once:
                self._full.clear()

    def _try_again(self) -> None:
        self._retry = None
        task = asyncio.get_running_loop().create_task(self._make_unmade())
        self._retrying.add(task)
        task.add_done_callback(self._retrying.discard)

    async def _make_unmade(self) -> None:
        async with self._publishing:
            assert self._effective is not None
            await self._create(list(self._unmade.values()), self._effective)
            self._report_leadership()

    def _claim(self, partition: TopicPartition, topic_id: Uuid, image: PartitionImage) -> FoundIn | None:
        """The log that was found at start and belongs to this topic id.

        A log of another topic with this name is set aside, and so is one that was damaged when
        this node stopped.
        """
        found = self._found.replicas.pop(partition, [])
        own = [each for each in found if each[1].topic_id in (topic_id, None) and not self._is_lost(image)]
        for directory, _ in found:
            if all(directory is not each[0] for each in own):
                names = self._put_aside(directory, directory.mark_stray, partition)
                self._log.warning("a partition that is damaged, or of another topic with this name, was put aside", directories=names)
        if not own:
            return self._claim_copy(partition, topic_id, image)
        # There are two logs when the node died while a copy replaced the replica. The metadata
        # names the directory of the right one.
        own.sort(key=lambda each: (each[0].directory_id == image.directory_of(self._node_id), each[1].log.log_end_offset), reverse=True)
        claimed = own[0]
        for directory, other in own[1:]:
            if other.log.log_end_offset <= claimed[1].log.log_end_offset:
                names = self._put_aside(directory, directory.mark_deleted, partition)
                for name in names:
                    self._removals.later(directory, partial(directory.remove_marked, name), 0)
            else:
                names = self._put_aside(directory, directory.mark_stray, partition)
                self._log.warning("partition found twice, the directory that the metadata does not name was put aside", directories=names)
        return claimed

    def _claim_copy(self, partition: TopicPartition, topic_id: Uuid, image: PartitionImage) -> FoundIn | None:
        """The copy, when its replica's directory is missing and the metadata names the copy's.

        The node reports the copy's directory to the controller only once the copy is complete.
        """
        assigned = image.directory_of(self._node_id)
        for directory, found in self._found.copies.get(partition, []):
            if directory.directory_id == assigned and found.topic_id == topic_id and directory.online and not self._replicas.all_online:
                self._found.copies.pop(partition)
                directory.adopt_future(partition)
                self._log.warning("a copy takes the place of a replica that is gone", partition=str(partition), directory=directory.path)
                self._observer.log_created(found.log)
                return directory, found
        return None

    def _resume_move(self, replica: Partition) -> None:
        """Continue the move of this replica, and set aside the copies of other moves."""
        for directory, found in self._found.copies.pop(replica.partition, []):
            if (
                found.topic_id == replica.topic_id
                and directory is not replica.directory
                and directory.online
                and replica.health.future is None
            ):
                self._observer.copy_found(replica, found.log, directory)
            else:
                names = self._put_aside(directory, directory.mark_future_stray, replica.partition)
                self._log.warning("a copy that belongs to no replica was put aside", directories=names)

    def _is_lost(self, image: PartitionImage) -> bool:
        """Whether the controller considers this node's data of the partition as lost."""
        return image.directory_of(self._node_id) == LOST_DIRECTORY and self._node_id not in image.isr

    def _directory_for(self, partition: TopicPartition, image: PartitionImage) -> LogDirectory | None:
        """None if there is no usable directory, or the replica may be in a failed one.

        In the second case a new and empty log would be taken for the partition. An unknown
        directory, while none has failed, belonged to another machine with this node's id. Its data
        is gone, and the controller knows, because the start was not clean.
        """
        assigned = image.directory_of(self._node_id)
        if assigned == ZERO_UUID or self._is_lost(image):
            return self._replicas.directory_for_new(partition, full=self._full)
        known = next((each for each in self._replicas.directories if each.directory_id == assigned), None)
        if known is None and self._replicas.all_online:
            return self._replicas.directory_for_new(partition, full=self._full)
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
            cluster_view=self._cluster_view,
        )
        self._replicas.add(replica)
        self._follow(replica, image)
        if image.directory_of(self._node_id) != directory.directory_id:
            self._observer.placed(topic_id, partition.partition, directory)
        self._resume_move(replica)

    def _follow(self, replica: Partition, image: PartitionImage) -> None:
        led = replica.leads
        try:
            replica.follow_metadata(image, self._clock.monotonic_ms())
        except OSError as error:
            self._replicas.disk_failed(replica.directory, error)
            replica.resign()
        if replica.online and image.directory_of(self._node_id) == LOST_DIRECTORY:
            # The replica was damaged and has dropped the corrupt part: it may fetch and be in sync
            # again.
            self._observer.placed(replica.topic_id, replica.partition.partition, replica.directory)
        self._observer.role_changed(replica)
        if replica.leads != led:
            (self._lost if led else self._taken).append(replica)

    # -- removing ----------------------------------------------------------------------------------

    def _delete(self, topic: TopicImage) -> None:
        self._unmade = {partition: wanted for partition, wanted in self._unmade.items() if wanted.topic_id != topic.topic_id}
        found = (self._replicas.by_id(topic.topic_id, index) for index in topic.partitions)
        self._remove([replica for replica in found if replica is not None])
        self._counters.pop(topic.name, None)
        forget_topic(self._metrics, topic.name)

    def _remove(self, replicas: list[Partition]) -> None:
        """Remove replicas of deleted topics, and replicas that moved to other brokers."""
        for replica in replicas:
            directory = replica.directory
            self._replicas.remove(replica.partition)
            self._observer.removed(replica)
            if directory.online:
                try:
                    path = directory.mark_deleted(replica.partition, Uuid(random_uuid(self._entropy)))
                except OSError as error:
                    self._replicas.disk_failed(directory, error)
                    continue
                self._outdated.setdefault(directory, set()).add(replica.partition)
                self._removals.later(directory, partial(directory.remove_marked, path), replica.log.settings.file_delete_delay_ms)

    async def _forget_bounds(self, plans: list[tuple[_Wanted, LogDirectory]]) -> None:
        """Remove deleted partitions from the checkpoints before one of the same name is created.

        With the old log start and recovery point, a restart after a crash would throw away records
        of the new partition. If there is no room to write the checkpoints, the new one must wait.
        """
        named = dict.fromkeys(directory for each, directory in plans if each.partition in self._outdated.get(directory, ()))
        for directory in named:
            gone = self._outdated.pop(directory)
            try:
                await asyncio.get_running_loop().run_in_executor(self._executor, directory.write_down_bounds({}))
            except OSError as error:
                self._outdated[directory] = gone
                self._replicas.disk_failed(directory, error)
                for plan in [each for each in plans if each[1] is directory]:
                    plans.remove(plan)
                    directory.reserved -= 1
                    self._make_later(plan[0], directory)

    def _put_aside(self, directory: LogDirectory, mark: Callable[[TopicPartition, Uuid], str], partition: TopicPartition) -> list[str]:
        """Returns the new name, unless the directory has failed."""
        if not directory.online:
            return []
        try:
            return [mark(partition, Uuid(random_uuid(self._entropy)))]
        except OSError as error:
            self._replicas.disk_failed(directory, error)
            return []

    def put_strays_aside(self) -> list[str]:
        """Rename the logs that no topic claims, so that they are kept and marked as stray.

        Returns the new names.
        """
        names: list[str] = []
        for partition, found in self._found.replicas.items():
            for directory, _ in found:
                names += self._put_aside(directory, directory.mark_stray, partition)
        # While a directory is missing, a copy may belong to a replica in it.
        for partition, found in self._found.copies.items() if self._replicas.all_online else ():
            for directory, _ in found:
                names += self._put_aside(directory, directory.mark_future_stray, partition)
        self._found = FoundLogs()
        return names

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        for task in self._retrying:
            task.cancel()


def _make(directory: LogDirectory, partition: TopicPartition, topic_id: Uuid, settings: LogSettings, now_ms: int) -> Log | OSError:
    try:
        return directory.create(partition, topic_id, settings, now_ms=now_ms)
    except OSError as error:
        return error
