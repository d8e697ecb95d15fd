"""Topics that a broker creates without a CreateTopics request: the topics that hold the state of
coordinators, when a client first looks for a coordinator, and with ``auto.create.topics.enable``
any topic that a client names."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.config.remote_metadata_topic import MetadataTopicSettings
from barnabas.config.settings import BrokerSettings
from barnabas.controller.port import ControllerPort
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.promise import Promise
from barnabas.model.topic_names import CONSUMER_OFFSETS, INTERNAL_TOPICS, REMOTE_LOG_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse

_BY_DEFAULT = -1
# Topics whose creation is in flight. Beyond this limit no further creation is requested until the
# controller has answered.
CREATIONS_MAX = 10_000


def creatable(settings: BrokerSettings, name: str) -> CreatableTopic:
    """The creation request for a topic that a client only named. Internal topics have settings of
    their own."""
    if name == CONSUMER_OFFSETS:
        return _topic(
            name,
            partitions=settings.integer("offsets.topic.num.partitions"),
            replicas=settings.integer("offsets.topic.replication.factor"),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(settings.integer("offsets.topic.segment.bytes")),
            },
        )
    if name == TRANSACTION_STATE:
        return _topic(
            name,
            partitions=settings.integer("transaction.state.log.num.partitions"),
            replicas=settings.integer("transaction.state.log.replication.factor"),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(settings.integer("transaction.state.log.min.isr")),
                "segment.bytes": str(settings.integer("transaction.state.log.segment.bytes")),
                # A replica that missed the decision about a transaction must not become leader and
                # revert it.
                "unclean.leader.election.enable": "false",
            },
        )
    if name == SHARE_GROUP_STATE:
        return _topic(
            name,
            partitions=settings.integer("share.coordinator.state.topic.num.partitions"),
            replicas=settings.integer("share.coordinator.state.topic.replication.factor"),
            configs={
                # Not compacted: the coordinator deletes the records that its snapshots supersede.
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "segment.bytes": str(settings.integer("share.coordinator.state.topic.segment.bytes")),
                "min.insync.replicas": str(settings.integer("share.coordinator.state.topic.min.isr")),
                "retention.ms": "-1",
            },
        )
    if name == REMOTE_LOG_METADATA:
        topic = MetadataTopicSettings.of(settings)
        return _topic(
            name,
            partitions=topic.partitions,
            replicas=topic.replicas,
            configs={
                "cleanup.policy": "delete",
                "retention.ms": str(topic.retention_ms),
                "retention.bytes": "-1",
                "min.insync.replicas": str(topic.min_insync_replicas),
                "remote.storage.enable": "false",
            },
        )
    return _topic(name, partitions=_BY_DEFAULT, replicas=_BY_DEFAULT, configs={})


def _topic(name: str, *, partitions: int, replicas: int, configs: dict[str, str]) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


class InternalTopics:
    """Asks the controller to create topics that clients only named, at most once per topic at a
    time: many clients ask at once when they start, and they all repeat the question while there is
    no controller."""

    def __init__(self, controller: ControllerPort, settings: BrokerSettings, log: EventLog) -> None:
        self._controller = controller
        self._settings = settings
        self._log = log
        self._asked: dict[str, Promise[ErrorCode]] = {}
        self._stopping = False

    def stop(self) -> None:
        """The node is stopping. Creations in flight fail from now on, which is no news."""
        self._stopping = True

    def create(self, name: str) -> Promise[ErrorCode]:
        return self.create_all([name])[name]

    def create_all(self, names: Iterable[str]) -> dict[str, Promise[ErrorCode]]:
        """The error code for each topic; NONE also when the topic existed already."""
        wanted = dict.fromkeys(names)
        under_way = {name: self._asked[name] for name in wanted if name in self._asked}
        room = CREATIONS_MAX - len(self._asked)
        new = [name for name in wanted if name not in under_way][: max(0, room)]
        asked = {name: Promise[ErrorCode]() for name in new}
        self._asked |= asked
        if asked:
            timeout_ms = self._settings.integer("request.timeout.ms")
            request = CreateTopicsRequest(topics=[creatable(self._settings, name) for name in asked], timeout_ms=timeout_ms)
            self._controller.submit(request).then(lambda response: self._answered(asked, response))
        refused = {name: Promise.kept(ErrorCode.REQUEST_TIMED_OUT) for name in wanted if name not in under_way and name not in asked}
        return under_way | asked | refused

    def _answered(self, asked: dict[str, Promise[ErrorCode]], response: CreateTopicsResponse) -> None:
        results = {topic.name: topic for topic in response.topics}
        for name, promise in asked.items():
            self._asked.pop(name, None)
            result = results.get(name)
            code = known_error(result.error_code) if result is not None else ErrorCode.UNKNOWN_SERVER_ERROR
            if code == ErrorCode.TOPIC_ALREADY_EXISTS:
                code = ErrorCode.NONE
            if code and name in INTERNAL_TOPICS and not self._stopping:
                reason = result.error_message if result is not None else None
                self._log.warning("internal topic not created", topic=name, error=code.name, reason=reason)
            promise.resolve(code)
