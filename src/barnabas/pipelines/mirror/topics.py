"""Keeps topics on the target in step with the source: they exist, with as many partitions and the
same settings.

Called before each batch is written, so that every record finds its topic, and every few seconds
besides, so that settings follow without records. Nothing is ever deleted: a topic that was deleted
on the source stays on the target.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from barnabas.pipelines.errors import RunFailed
from barnabas.pipelines.mirror.cluster import ANSWER_SECONDS_MAX, MirrorCluster
from barnabas.pipelines.mirror.selection import TopicSelection
from barnabas.pipelines.mirror.topic_settings import SettingsChange, change_needed, mirrored_settings

_BROKER_DEFAULT = -1
_COMPACTED = {"cleanup.policy": "compact"}


class MirroredTopics:
    def __init__(self, source: MirrorCluster, target: MirrorCluster, selection: TopicSelection) -> None:
        self._source, self._target = source.admin(), target.admin()
        self._target_alias = target.alias
        self._selection = selection
        self._lock = threading.Lock()  # Spark's thread and the one that synchronises both use this
        self.partitions: dict[str, int] = {}  # of the source's topics that are mirrored

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._source, self._target:  # this is how librdkafka's clients are closed
            pass

    def keep_in_step(self, *, settings: bool) -> None:
        """``settings``: also compare those of existing topics, which costs a request for each
        broker."""
        with self._lock:
            existing = _partition_counts(self._target)
            source = _partition_counts(self._source)
            self.partitions = {name: source[name] for name in self._selection.wanted(list(source))}
            missing = [name for name in self.partitions if self._selection.target_name(name) not in existing]
            self._create(missing)
            for name, count in self.partitions.items():
                target_name = self._selection.target_name(name)
                if existing.get(target_name, count) < count:
                    self._grow(target_name, count)
            if settings:
                self._align_settings([name for name in self.partitions if name not in missing])

    def create_internal(self, names: Sequence[str]) -> None:
        """The mirror's own topics: one partition, compacted."""
        new = [NewTopic(name, num_partitions=1, replication_factor=_BROKER_DEFAULT, config=_COMPACTED) for name in names]
        for name, future in self._target.create_topics(new, request_timeout=ANSWER_SECONDS_MAX).items():
            self._answered(future, f"Cannot create topic {name}", KafkaError.TOPIC_ALREADY_EXISTS)

    def _create(self, names: Sequence[str]) -> None:
        if not names:
            return
        settings = _settings(self._source, names)
        new = [
            NewTopic(
                self._selection.target_name(name),
                num_partitions=self.partitions[name],
                replication_factor=_BROKER_DEFAULT,
                config=mirrored_settings(settings.get(name, {})),
            )
            for name in names
        ]
        for name, future in self._target.create_topics(new, request_timeout=ANSWER_SECONDS_MAX).items():
            self._answered(future, f"Cannot create topic {name}", KafkaError.TOPIC_ALREADY_EXISTS)

    def _grow(self, name: str, count: int) -> None:
        (future,) = self._target.create_partitions([NewPartitions(name, count)], request_timeout=ANSWER_SECONDS_MAX).values()
        # Another client may have added them first.
        self._answered(future, f"Cannot add partitions to topic {name}", KafkaError.INVALID_PARTITIONS)

    def _align_settings(self, names: Sequence[str]) -> None:
        source = _settings(self._source, names)
        target = _settings(self._target, [self._selection.target_name(name) for name in names])
        changes = {}
        for name in source:
            target_name = self._selection.target_name(name)
            if target_name in target and (change := change_needed(source[name], target[target_name])):
                changes[target_name] = change
        if not changes:
            return
        futures = self._target.incremental_alter_configs([_resource(name, change) for name, change in changes.items()])
        for resource, future in futures.items():
            self._answered(future, f"Cannot change settings of topic {resource.name}")

    def _answered(self, future: Any, doing: str, *fine: int) -> None:
        try:
            future.result(ANSWER_SECONDS_MAX)
        except KafkaException as wrong:
            error = wrong.args[0]
            if error.code() not in fine:
                raise RunFailed(f"{doing} on cluster {self._target_alias!r}: {error.str()}.") from wrong


def _partition_counts(admin: AdminClient) -> dict[str, int]:
    found: Any = admin.list_topics(timeout=ANSWER_SECONDS_MAX)
    return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}


def _settings(admin: AdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings that were set on each topic. A topic that was deleted meanwhile is left out."""
    if not names:
        return {}
    futures = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names], request_timeout=ANSWER_SECONDS_MAX)
    found = {}
    for resource, future in futures.items():
        try:
            entries: Mapping[str, Any] = future.result(ANSWER_SECONDS_MAX)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                continue
            raise
        on_topic = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        found[str(resource.name)] = {name: entry.value for name, entry in entries.items() if entry.source == on_topic}
    return found


def _resource(name: str, change: SettingsChange) -> ConfigResource:
    resource = ConfigResource(ResourceType.TOPIC, name)
    for setting, value in change.set.items():
        resource.add_incremental_config(ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET))
    for setting in change.unset:
        resource.add_incremental_config(ConfigEntry(setting, "", incremental_operation=AlterConfigOpType.DELETE))
    return resource
