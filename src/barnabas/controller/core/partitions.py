"""The partitions as one decision sees them: their present state, with every change that the
decision has made so far.

A decision often changes many partitions, and may change one twice. Each change builds on the one
before, and all of them become the records of one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from barnabas.controller.core.partition_change import Circumstances, Election, Wanted, partition_change
from barnabas.metadata.cluster import UNASSIGNED_DIRECTORY
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.ids import Uuid
from barnabas.wire.metadata_records import PartitionChangeRecord

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_ELECTION_ENABLE = "unclean.leader.election.enable"


class _TopicRules(NamedTuple):
    min_isr: int
    unclean_allowed: bool


class Partitions:
    def __init__(self, image: MetadataImage, effective: EffectiveConfigs) -> None:
        self.image = image
        self.records: list[PartitionChangeRecord] = []
        self._effective = effective
        self._changed: dict[tuple[Uuid, int], PartitionImage] = {}
        self._rules: dict[Uuid, _TopicRules] = {}

    def __iter__(self) -> Iterator[tuple[TopicImage, int, PartitionImage]]:
        """All partitions; the caller may change them during the iteration."""
        for topic in self.image.topics.by_id.values():
            for index, partition in topic.partitions.items():
                yield topic, index, self._changed.get((topic.topic_id, index), partition)

    def find(self, topic: TopicImage, index: int) -> PartitionImage | None:
        return self._changed.get((topic.topic_id, index)) or topic.partitions.get(index)

    def led_by(self, broker_id: int) -> bool:
        return any(partition.leader == broker_id for _, _, partition in self)

    def unclean_allowed(self, topic: TopicImage) -> bool:
        return self._rules_of(topic).unclean_allowed

    def change(
        self,
        topic: TopicImage,
        index: int,
        wanted: Wanted,
        *,
        election: Election | None = None,
        alive: Callable[[int], bool] | None = None,
    ) -> PartitionImage | None:
        """The partition after the change, whose record is added to :attr:`records`; None when
        nothing changes.

        A new leader must be ``alive``, by default active, and have the directory of its replica
        online. Without an ``election`` the topic's own setting decides whether it may be unclean.
        """
        partition = self.find(topic, index)
        assert partition is not None, "only partitions that exist are changed"
        rules = self._rules_of(topic)
        lives = alive or self.image.cluster.active
        brokers = self.image.cluster.brokers

        def can_lead(broker_id: int) -> bool:
            directory = wanted.directories.get(broker_id) or partition.directory_of(broker_id)
            return lives(broker_id) and broker_id in brokers and brokers[broker_id].has_online(directory)

        def default_directory(broker_id: int) -> Uuid:
            return brokers[broker_id].default_directory if broker_id in brokers else UNASSIGNED_DIRECTORY

        circumstances = Circumstances(
            can_lead=can_lead,
            default_directory=default_directory,
            election=election or (Election.UNCLEAN if rules.unclean_allowed else Election.ONLINE),
            min_isr=rules.min_isr,
            eligible_enabled=self.image.features.eligible_leader_replicas,
        )
        record = partition_change(topic.topic_id, index, partition, wanted, circumstances)
        if record is None:
            return None
        self.records.append(record)
        changed = self._changed[topic.topic_id, index] = partition.changed_by(record)
        return changed

    def _rules_of(self, topic: TopicImage) -> _TopicRules:
        rules = self._rules.get(topic.topic_id)
        if rules is None:
            settings = self._effective.topic(topic.name)
            min_isr, unclean = settings[MIN_INSYNC_REPLICAS], settings[UNCLEAN_ELECTION_ENABLE]
            assert isinstance(min_isr, int)
            assert isinstance(unclean, bool)
            # A topic with fewer replicas than the minimum could otherwise never be written to.
            rules = _TopicRules(min(min_isr, len(topic.partitions[0].replicas)), unclean)
            self._rules[topic.topic_id] = rules
        return rules
