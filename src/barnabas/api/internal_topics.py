"""The topics that coordinators keep their state in. They are created when somebody first looks for a coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.config.settings import BrokerSettings
from barnabas.model.errors import ErrorCode
from barnabas.model.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from barnabas.api.broker import Broker

_BY_DEFAULT = -1


def creatable(settings: BrokerSettings, name: str) -> CreatableTopic:
    """How this broker asks for a topic that somebody only named: an internal one has settings of its own."""
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
                # A transaction that was decided must not be undecided by a replica that missed the decision.
                "unclean.leader.election.enable": "false",
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
    """Asks the controller for an internal topic, and not again before it has answered: every client that starts asks at once."""

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def create(self, broker: Broker, name: str) -> None:
        if name in self._asked:
            return
        self._asked.add(name)
        request = CreateTopicsRequest(topics=[creatable(broker.settings, name)], timeout_ms=broker.settings.integer("request.timeout.ms"))

        def answered(response: CreateTopicsResponse) -> None:
            self._asked.discard(name)
            for topic in response.topics:
                if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    error = ErrorCode(topic.error_code).name
                    broker.log.warning("internal topic not created", topic=name, error=error, reason=topic.error_message)

        broker.controller.submit(request).then(answered)
