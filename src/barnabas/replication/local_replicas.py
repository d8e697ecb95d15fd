"""All replicas on this node, by topic and by topic id, and their directories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from barnabas.env.disk import out_of_room
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.replication.future_replica import FutureReplica
from barnabas.replication.partition import Partition
from barnabas.replication.throttle import ReplicationThrottles
from barnabas.storage.log_directory import LogDirectory

# The limit for requested directories of replicas that do not exist yet; beyond it the oldest
# requests are forgotten.
PREFERENCES_MAX = 10_000


class LocalReplicas:
    def __init__(
        self, directories: Sequence[LogDirectory], on_failure: Callable[[LogDirectory, OSError], None], *, unopened: Sequence[str] = ()
    ) -> None:
        """``on_failure`` is called once for a directory that failed; ``unopened`` are the paths of
        further directories that could not be opened."""
        self.directories = list(directories)
        self.unopened = tuple(unopened)
        # Directories requested for replicas that do not exist yet.
        self._preferred: dict[TopicPartition, LogDirectory] = {}
        self.by_topic: dict[str, dict[int, Partition]] = {}
        self.topic_names: dict[Uuid, str] = {}
        self.throttles = ReplicationThrottles()
        self._on_failure = on_failure
        # Called every time a directory has no room for a write.
        self.on_full: Callable[[LogDirectory, OSError], None] = lambda _, __: None
        # Called for replicas that must be fetched again.
        self.on_damage: Callable[[Partition], None] = lambda _: None

    def get(self, topic: str, partition: int) -> Partition | None:
        partitions = self.by_topic.get(topic)
        return partitions.get(partition) if partitions is not None else None

    def by_id(self, topic_id: Uuid, partition: int) -> Partition | None:
        topic = self.topic_names.get(topic_id)
        return self.by_topic[topic].get(partition) if topic is not None else None

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self.by_topic.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))

    def add(self, partition: Partition) -> None:
        topic, index = partition.partition
        self.by_topic.setdefault(topic, {})[index] = partition
        self.topic_names[partition.topic_id] = topic
        partition.directory.high_watermarks[partition.partition] = lambda: partition.high_watermark

    def remove(self, partition: TopicPartition) -> Partition | None:
        partitions = self.by_topic.get(partition.topic, {})
        removed = partitions.pop(partition.partition, None)
        if removed is not None:
            removed.resign()
            if not partitions:
                del self.by_topic[partition.topic]
                self.topic_names.pop(removed.topic_id, None)
        return removed

    @property
    def all_online(self) -> bool:
        """Whether every directory of this node is online: only then is a replica that lies in none
        of them missing."""
        return not self.unopened and all(directory.online for directory in self.directories)

    def prefer(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Put the replica into this directory once it is created here."""
        self._preferred.pop(partition, None)
        if len(self._preferred) >= PREFERENCES_MAX:
            del self._preferred[next(iter(self._preferred))]
        self._preferred[partition] = directory

    def directory_for_new(self, partition: TopicPartition, *, full: Collection[LogDirectory] = ()) -> LogDirectory | None:
        """The directory of a new replica: the requested one, or the one with the fewest replicas
        that is not cordoned. If all are cordoned, the controller did not know that when it chose
        this node, and the first one is used. Directories that are ``full`` come last."""
        preferred = self._preferred.pop(partition, None)
        if preferred is not None and preferred.online:
            return preferred
        online = [directory for directory in self.directories if directory.online]
        free = [directory for directory in online if not directory.cordoned] or online[:1]
        free = [directory for directory in free if directory not in full] or free
        return min(free, key=lambda directory: len(directory.logs) + directory.reserved) if free else None

    def exchange(self, partition: Partition, future: FutureReplica) -> None:
        """A replica is in another directory now."""
        partition.exchange(future)
        partition.directory.high_watermarks[partition.partition] = lambda: partition.high_watermark

    def disk_failed(self, directory: LogDirectory, error: OSError) -> None:
        """Take the directory offline; the others stay in use. A directory that is only full stays
        online: the write failed, its caller gets the error, and may try again."""
        if out_of_room(error):
            self.on_full(directory, error)
        elif directory.online:
            directory.fail(str(error))
            for partition in self:
                if partition.directory is directory:
                    partition.resign()
            self._on_failure(directory, error)

    def damaged(self, partition: Partition, offset: int) -> bool:
        """A corrupt batch was found. Returns whether the replica is taken out of service for it."""
        if not partition.found_damage(offset):
            return False
        self.on_damage(partition)
        return True
