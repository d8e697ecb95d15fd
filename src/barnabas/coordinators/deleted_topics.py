"""Deletes what coordinators keep about a deleted topic.

The offsets of groups must go, because otherwise consumers would read a new topic of the same name
from the middle. The delivery states of share groups belong to the topic's id and only take room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.coordinators.coordinator import Coordinator
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import Uuid

if TYPE_CHECKING:
    from barnabas.coordinators.group.machine import GroupMachine
    from barnabas.coordinators.share.machine import ShareMachine


class OffsetsOfDeletedTopics:
    def __init__(self, groups: Coordinator[GroupMachine]) -> None:
        self._groups = groups

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        for topic in delta.topics.deleted.values():
            self._forget(topic.name, topic.topic_id)

    def _forget(self, topic: str, topic_id: Uuid) -> None:
        for partition in self._groups.runtime.active_partitions:
            self._groups.run_at(partition, lambda machine, now_ms: machine.offsets.forget_topic(topic, topic_id, now_ms))
            self._groups.run_at(partition, lambda machine, _: machine.share.forget_topic(topic_id))


class ShareStatesOfDeletedTopics:
    def __init__(self, shares: Coordinator[ShareMachine]) -> None:
        self._shares = shares

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if delta.topics.deleted:
            for partition in self._shares.runtime.active_partitions:
                self._shares.run_at(partition, lambda machine, now_ms: machine.forget_deleted_topics(now_ms))
