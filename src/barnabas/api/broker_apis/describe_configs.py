"""DescribeConfigs (key 32): settings, and the sources of their values.

Behaviour:
- a topic has all topic settings. A broker describes only itself. The empty broker name describes
  the cluster-wide defaults of brokers;
- sensitive values are null in the response;
- ``configuration_keys`` selects settings; null or an empty list selects all of them. The order is
  that of the table of settings.

Version notes: synonyms from 1, types and documentation from 3. Synonyms and documentation are sent
only if the client asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.api.broker import Broker
from barnabas.api.broker_loggers import DEFAULT_LEVEL, ROOT_LOGGER
from barnabas.api.config_access import MESSAGES, TO_DESCRIBE, why_denied
from barnabas.api.needs import checked
from barnabas.config.values import ConfigType, read_integer
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import ConfigEntry, ConfigSource
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.topic_names import why_illegal
from barnabas.network.caller import Caller
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

NEEDS = checked(*TO_DESCRIBE)


def handle(broker: Broker, caller: Caller, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    results = []
    for resource in request.resources:
        # Kafka leaves the message of a successful result at its default, the empty string.
        error, message, entries = ErrorCode.NONE, "", []
        try:
            denied = why_denied(broker, caller, TO_DESCRIBE, resource.resource_type, resource.resource_name)
            if denied:
                raise KafkaError(denied, MESSAGES[denied])
            wanted = frozenset(resource.configuration_keys) if resource.configuration_keys else None
            entries = [_shown(entry, request) for entry in _entries(broker, resource) if wanted is None or entry.name in wanted]
        except KafkaError as refused:
            error, message = refused.code, refused.message or ""
        results.append(
            DescribeConfigsResult(
                error_code=error,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=entries,
            )
        )
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _entries(broker: Broker, resource: DescribeConfigsResource) -> Iterable[ConfigEntry]:
    effective = broker.metadata.effective
    name = resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            problem = why_illegal(name)
            if problem is not None:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}.")
            if name not in broker.metadata.image.topics.by_name:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return effective.describe_topic(name)
        case ResourceType.BROKER:
            if not name:
                return effective.describe_cluster_default()
            _check_broker(broker, name)
            return effective.describe_broker()
        case ResourceType.BROKER_LOGGER:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            _check_broker(broker, name)
            return _loggers(broker)
        case ResourceType.GROUP:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return effective.describe_group(name)
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
            return effective.describe_client_metrics(name)
        case _:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")


def _check_broker(broker: Broker, name: str) -> None:
    if read_integer(name) != broker.node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {broker.node_id} or empty string, but received {name}")


def _loggers(broker: Broker) -> Iterator[ConfigEntry]:
    level = broker.log.level
    doc = f"Events below this level are not written; {DEFAULT_LEVEL} unless changed."
    yield ConfigEntry(ROOT_LOGGER, level, ConfigSource.BROKER_LOGGER, False, False, ConfigType.STRING.code, doc, ())


def _shown(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=(
            [DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source) for each in entry.synonyms]
            if request.include_synonyms
            else []
        ),
        config_type=entry.type_code,
        documentation=entry.doc if request.include_documentation else None,
    )
