"""All replicas on this node, by topic and by topic id, and the directories they lie in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from barnabas.env.disk import out_of_room
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.replication.future_replica import FutureReplica
from barnabas.replication.partition import Partition
from barnabas.replication.throttle import ReplicationThrottles
from barnabas.storage.log_directory import LogDirectory

# Of replicas that were never made. Whoever names more than this many in advance is forgotten again, oldest first.
PREFERENCES_MAX = 10_000


class LocalReplicas:
    def __init__(
        self, directories: Sequence[LogDirectory], on_failure: Callable[[LogDirectory, OSError], None], *, unopened: Sequence[str] = ()
    ) -> None:
        """``on_failure`` is told once of a directory that had to be given up; ``unopened`` are the paths of more than these, which could
        not even be opened."""
        self.directories = list(directories)
        self.unopened = tuple(unopened)
        # Where replicas shall go that are not here yet, and of which somebody has said it.
        self._preferred: dict[TopicPartition, LogDirectory] = {}
        self.by_topic: dict[str, dict[int, Partition]] = {}
        self.topic_names: dict[Uuid, str] = {}
        self.throttles = ReplicationThrottles()
        self._on_failure = on_failure
        # Told, every time, of a directory without room for what somebody wanted to write.
        self.on_full: Callable[[LogDirectory, OSError], None] = lambda _, __: None
        # Told of replicas that must be fetched again.
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
        """Whether every directory that this node should have is there: what lies in none of them is nowhere."""
        return not self.unopened and all(directory.online for directory in self.directories)

    def prefer(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """The replica, once it is made here, shall be in this directory."""
        self._preferred.pop(partition, None)
        if len(self._preferred) >= PREFERENCES_MAX:
            del self._preferred[next(iter(self._preferred))]
        self._preferred[partition] = directory

    def directory_for_new(self, partition: TopicPartition, *, full: Collection[LogDirectory] = ()) -> LogDirectory | None:
        """Where the replica goes: to the directory that somebody chose, or to the one that holds the fewest and is not cordoned. Where
        all are, the controller had not heard of it when it chose this node, and the first must do. Those that are ``full`` come last."""
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
        """Nothing can be believed of this directory any more; the others go on. Unless it is only full: then what was asked for was not
        done, its asker hears of it, and may ask again."""
        if out_of_room(error):
            self.on_full(directory, error)
        elif directory.online:
            directory.fail(str(error))
            for partition in self:
                if partition.directory is directory:
                    partition.resign()
            self._on_failure(directory, error)

    def damaged(self, partition: Partition, offset: int) -> bool:
        """A batch was found that is not what was written. Whether the replica is taken out of service for it."""
        if not partition.found_damage(offset):
            return False
        self.on_damage(partition)
        return True
