"""The partition for the dead letters of a group, or the reason why there is none.

Three rules keep a group from writing into any topic: its name begins with
``errors.deadletterqueue.topic.name.prefix``, the topic itself allows it with
``errors.deadletterqueue.group.enable``, and it is not one of the cluster's own.
"""

from __future__ import annotations

from barnabas.config.later_keys import DEAD_LETTER_AUTO_CREATE, DEAD_LETTER_GROUPS, DEAD_LETTER_PREFIX
from barnabas.controller.port import ControllerPort
from barnabas.metadata.applier import MetadataApplier
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.model.topic_names import INTERNAL_TOPICS
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

_DEFAULT = -1


class DeadLetterTopics:
    def __init__(self, metadata: MetadataApplier, controller: ControllerPort) -> None:
        self._metadata = metadata
        self._controller = controller
        # Topics whose creation was requested and not answered yet.
        self._asked: set[str] = set()

    def partition_for(self, topic: str, source: TopicPartition) -> TopicPartition | str:
        """Letters of one partition stay together and in order; otherwise a sentence for the log."""
        effective = self._metadata.effective
        prefix = effective.broker[DEAD_LETTER_PREFIX]
        assert isinstance(prefix, str)
        if not topic.startswith(prefix) or topic in INTERNAL_TOPICS:
            return f"The name of the topic must begin with {prefix!r}."
        found = self._metadata.image.topics.by_name.get(topic)
        if found is None:
            if not effective.broker[DEAD_LETTER_AUTO_CREATE]:
                return f"The topic does not exist, and {DEAD_LETTER_AUTO_CREATE} is false."
            self._create(topic)
            return "The topic is being created."
        if not effective.topic(topic)[DEAD_LETTER_GROUPS]:
            return f"The topic does not set {DEAD_LETTER_GROUPS}=true."
        return TopicPartition(topic, source.partition % len(found.partitions))

    def topic_id(self, topic: str) -> Uuid:
        found = self._metadata.image.topics.by_name.get(topic)
        return found.topic_id if found is not None else ZERO_UUID

    def _create(self, topic: str) -> None:
        if topic in self._asked:
            return
        self._asked.add(topic)
        creatable = CreatableTopic(
            name=topic,
            num_partitions=_DEFAULT,
            replication_factor=_DEFAULT,
            assignments=[],
            configs=[CreatableTopicConfig(name=DEAD_LETTER_GROUPS, value="true")],
        )
        request = CreateTopicsRequest(topics=[creatable], timeout_ms=30_000)
        self._controller.submit(request).then(lambda _: self._asked.discard(topic))
