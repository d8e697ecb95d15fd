"""Topics and their partitions: replicas, ISR and leader.

A partition has two epochs. The *leader epoch* rises when the leader changes and is part of every
batch. The *partition epoch* rises with every change and guards concurrent changes of the ISR.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NO_NODE, ZERO_UUID, TopicPartition, Uuid
from barnabas.wire.metadata_records import (
    ClearElrRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

NO_LEADER_CHANGE = -2
RECOVERED, RECOVERING = 0, 1
RECOVERY_UNCHANGED = -1


@dataclass(frozen=True, slots=True)
class PartitionImage:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[Uuid, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader_recovery_state: int = RECOVERED

    def directory_of(self, broker_id: int) -> Uuid:
        """The log directory of a replica, as far as the metadata knows it."""
        if broker_id in self.replicas and self.directories:
            return self.directories[self.replicas.index(broker_id)]
        return ZERO_UUID

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_NODE

    @property
    def reassigning(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    @property
    def replicas_wanted(self) -> tuple[int, ...]:
        """The replicas after the ongoing reassignment."""
        return tuple(each for each in self.replicas if each not in self.removing_replicas)

    def changed_by(self, record: PartitionChangeRecord) -> PartitionImage:
        leads = record.leader != NO_LEADER_CHANGE
        return PartitionImage(
            replicas=self.replicas if record.replicas is None else tuple(record.replicas),
            isr=self.isr if record.isr is None else tuple(record.isr),
            leader=record.leader if leads else self.leader,
            leader_epoch=self.leader_epoch + 1 if leads else self.leader_epoch,
            partition_epoch=self.partition_epoch + 1,
            directories=self.directories if record.directories is None else tuple(record.directories),
            removing_replicas=self.removing_replicas if record.removing_replicas is None else tuple(record.removing_replicas),
            adding_replicas=self.adding_replicas if record.adding_replicas is None else tuple(record.adding_replicas),
            eligible_leader_replicas=(
                self.eligible_leader_replicas if record.eligible_leader_replicas is None else tuple(record.eligible_leader_replicas)
            ),
            last_known_elr=self.last_known_elr if record.last_known_elr is None else tuple(record.last_known_elr),
            leader_recovery_state=(
                self.leader_recovery_state if record.leader_recovery_state == RECOVERY_UNCHANGED else record.leader_recovery_state
            ),
        )

    def record(self, topic_id: Uuid, partition: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=list(self.directories),
            eligible_leader_replicas=list(self.eligible_leader_replicas) or None,
            last_known_elr=list(self.last_known_elr) or None,
        )


def partition_from(record: PartitionRecord) -> PartitionImage:
    return PartitionImage(
        replicas=tuple(record.replicas),
        isr=tuple(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=tuple(record.directories),
        removing_replicas=tuple(record.removing_replicas),
        adding_replicas=tuple(record.adding_replicas),
        eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
        last_known_elr=tuple(record.last_known_elr or ()),
        leader_recovery_state=record.leader_recovery_state,
    )


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    topic_id: Uuid
    partitions: Mapping[int, PartitionImage]  # Indexes run from 0 without gaps.

    def records(self) -> Iterator[MetadataRecord]:
        yield TopicRecord(name=self.name, topic_id=self.topic_id)
        for index, partition in sorted(self.partitions.items()):
            yield partition.record(self.topic_id, index)


@dataclass(frozen=True, slots=True)
class TopicsImage:
    by_id: Mapping[Uuid, TopicImage] = field(default_factory=dict)
    by_name: Mapping[str, TopicImage] = field(default_factory=dict)

    def partition(self, partition: TopicPartition) -> PartitionImage | None:
        topic = self.by_name.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic is not None else None

    def records(self) -> Iterator[MetadataRecord]:
        for topic in self.by_id.values():
            yield from topic.records()


class TopicsDelta:
    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.deleted: dict[Uuid, TopicImage] = {}  # Deleted topics of the image.
        self._by_id: Draft[Uuid, TopicImage] = Draft(image.by_id)
        self._by_name: Draft[str, TopicImage] = Draft(image.by_name)
        self._partitions: dict[Uuid, Draft[int, PartitionImage]] = {}

    @property
    def empty(self) -> bool:
        return not self._by_id.changed and not self._partitions

    def changed_partitions(self) -> Iterator[tuple[TopicImage, int]]:
        """New or changed partitions of existing topics. Valid only after :meth:`finish`."""
        for topic_id, partitions in self._partitions.items():
            topic = self._by_id.get(topic_id)
            if topic is not None:
                for index in partitions.changed:
                    yield topic, index

    def changed_in(self, topic_id: Uuid) -> Collection[int]:
        """As :meth:`changed_partitions`, for one existing topic."""
        partitions = self._partitions.get(topic_id)
        return partitions.changed if partitions is not None else ()

    def replay_topic(self, record: TopicRecord) -> None:
        self._put(TopicImage(record.name, record.topic_id, {}))
        self._partitions[record.topic_id] = Draft({})

    def replay_partition(self, record: PartitionRecord) -> None:
        self._draft(record.topic_id).set(record.partition_id, partition_from(record))

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        draft = self._draft(record.topic_id)
        before = draft.get(record.partition_id)
        assert before is not None, f"partition {record.partition_id} of topic {record.topic_id.hex()} changes before it exists"
        draft.set(record.partition_id, before.changed_by(record))

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        topics = [record.topic_name] if record.topic_name else list(self._by_name.finish())
        for name in topics:
            topic = self._by_name.get(name)
            if topic is None:
                continue
            draft = self._draft(topic.topic_id)
            for index, partition in draft.finish().items():
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    draft.set(index, replace(partition, eligible_leader_replicas=(), last_known_elr=()))

    def replay_remove_topic(self, record: RemoveTopicRecord) -> str:
        """Remove the topic; return its name, which is free now."""
        topic = self._by_id.get(record.topic_id)
        assert topic is not None, f"topic {record.topic_id.hex()} is removed before it exists"
        self._by_id.remove(record.topic_id)
        self._by_name.remove(topic.name)
        self._partitions.pop(record.topic_id, None)
        if record.topic_id in self.image.by_id:
            self.deleted[record.topic_id] = self.image.by_id[record.topic_id]
        return topic.name

    def _draft(self, topic_id: Uuid) -> Draft[int, PartitionImage]:
        draft = self._partitions.get(topic_id)
        if draft is None:
            topic = self._by_id.get(topic_id)
            assert topic is not None, f"a partition of topic {topic_id.hex()} comes before the topic"
            draft = self._partitions[topic_id] = Draft(topic.partitions)
        return draft

    def _put(self, topic: TopicImage) -> None:
        self._by_id.set(topic.topic_id, topic)
        self._by_name.set(topic.name, topic)

    def finish(self) -> TopicsImage:
        for topic_id, draft in self._partitions.items():
            topic = self._by_id.get(topic_id)
            if topic is not None and draft.changed:
                self._put(TopicImage(topic.name, topic_id, draft.finish()))
        if self.empty:
            return self.image
        return TopicsImage(self._by_id.finish(), self._by_name.finish())


def offline(partition: PartitionImage) -> bool:
    return partition.leader == NO_NODE
