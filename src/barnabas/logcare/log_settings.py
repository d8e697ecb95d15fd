"""Gives logs their new settings when the configuration of a topic, a broker or the cluster changes.
No restart and no reopening is needed."""

from __future__ import annotations

from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.storage.log_settings import LogSettings


class LogSettingsPublisher:
    def __init__(self, node_id: int, replicas: LocalReplicas) -> None:
        self._node_id = node_id
        self._replicas = replicas

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        changed = delta.configs.changed
        if not changed:
            return
        if any(resource.type == ResourceType.BROKER and resource.name in ("", str(self._node_id)) for resource in changed):
            topics = set(self._replicas.by_topic)
        else:
            topics = {resource.name for resource in changed if resource.type == ResourceType.TOPIC}
        # The settings of a deleted topic go with its name, but its files are removed by the ones
        # that it had.
        for topic in topics & image.topics.by_name.keys():
            partitions = self._replicas.by_topic.get(topic)
            if partitions:
                settings = LogSettings.from_topic_config(effective.topic(topic))
                for partition in partitions.values():
                    partition.log.configure(settings)
