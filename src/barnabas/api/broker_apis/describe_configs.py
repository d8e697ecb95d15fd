"""DescribeConfigs (key 32): settings, and the sources of their values.

Behaviour:
- a topic has all topic settings. A broker describes only itself. The empty broker name describes
  the cluster-wide defaults of brokers;
- sensitive values are null in the response;
- ``configuration_keys`` selects settings; null or an empty list selects all of them. The order is
  that of the table of settings;
- a resource named twice is described twice, as in Kafka, from one result. Only descriptions of
  existing topics are unlimited: the others of a response have room for
  :data:`OTHER_DESCRIPTIONS_BYTES_MAX` together, and the rest of the request gets INVALID_REQUEST.

A response about many resources is made in slices (:mod:`~barnabas.api.sliced_answers`), with the
settings of one image.

Version notes: synonyms from 1, types and documentation from 3. Synonyms and documentation are sent
only if the client asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, cast

from barnabas.api.broker import Broker
from barnabas.api.broker_loggers import DEFAULT_LEVEL, ROOT_LOGGER
from barnabas.api.config_access import MESSAGES, TO_DESCRIBE, why_denied
from barnabas.api.needs import checked
from barnabas.api.sliced_answers import Steps, of_one_version
from barnabas.config.values import ConfigType, read_integer
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import ConfigEntry, ConfigSource, EffectiveConfigs
from barnabas.metadata.topics import TopicsImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.promise import Answer
from barnabas.model.topic_names import why_illegal
from barnabas.network.caller import Caller
from barnabas.wire.compiler import part_encoder
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from barnabas.wire.types import EncodedElements

NEEDS = checked(*TO_DESCRIBE)

# Existing topics bound what a client can get of them. Repeated resources and groups that need not
# exist have no such bound, and a request of a few kilobytes could ask for gigabytes. No client of
# Kafka names a resource twice, and this is enough for the settings of thousands of groups. A
# connection may have 128 such requests in flight.
OTHER_DESCRIPTIONS_BYTES_MAX: Final = 4 * 1024 * 1024

# What steps cost, see `barnabas.api.sliced_answers`.
ENTRY_US: Final = 10
RESULT_US: Final = 5

_NO_ENTRIES: Final = EncodedElements(0, b"")


class _Description(NamedTuple):
    """The result for a resource, the entries encoded."""

    error: ErrorCode
    message: str
    entries: EncodedElements


_TOO_MUCH: Final = _Description(
    ErrorCode.INVALID_REQUEST,
    f"The settings of repeated resources and of those that are no topics exceed {OTHER_DESCRIPTIONS_BYTES_MAX} bytes.",
    _NO_ENTRIES,
)


def handle(broker: Broker, caller: Caller, request: DescribeConfigsRequest) -> Answer[DescribeConfigsResponse]:
    def begin() -> Steps[DescribeConfigsResponse]:
        return _responding(broker, caller, request)

    access = broker.access
    return broker.sliced_answers.make(broker, caller, of_one_version(lambda: access.version, begin) if access.enabled else begin())


def _responding(broker: Broker, caller: Caller, request: DescribeConfigsRequest) -> Steps[DescribeConfigsResponse]:
    metadata = broker.metadata
    effective, topics = metadata.effective, metadata.image.topics
    encode_result = part_encoder(DescribeConfigsResponse, DescribeConfigsResult, caller.version)
    descriptions: dict[tuple[int, str, frozenset[str] | None], _Description] = {}
    described_topics: set[str] = set()
    other_bytes = 0
    results, error_codes = bytearray(), []
    for resource in request.resources:
        kind, name = resource.resource_type, resource.resource_name
        wanted = frozenset(resource.configuration_keys) if resource.configuration_keys else None
        is_new_topic = kind == ResourceType.TOPIC and name in topics.by_name and name not in described_topics
        if not is_new_topic and other_bytes > OTHER_DESCRIPTIONS_BYTES_MAX:
            found = _TOO_MUCH
        else:
            key = kind, name, wanted
            if key not in descriptions:
                descriptions[key] = yield from _describing(broker, caller, request, resource, wanted, effective, topics)
            found = descriptions[key]
        if is_new_topic:
            described_topics.add(name)
        else:
            other_bytes += len(found.entries.data)
        if found.error:
            error_codes.append(found.error)
        encode_result(
            DescribeConfigsResult(
                error_code=found.error,
                error_message=found.message,
                resource_type=kind,
                resource_name=name,
                configs=cast(list[DescribeConfigsResourceResult], found.entries),
            ),
            results,
        )
        yield RESULT_US
    encoded = EncodedElements(len(request.resources), results, error_codes)
    return DescribeConfigsResponse(throttle_time_ms=0, results=cast(list[DescribeConfigsResult], encoded))


def _describing(
    broker: Broker,
    caller: Caller,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
    wanted: frozenset[str] | None,
    effective: EffectiveConfigs,
    topics: TopicsImage,
) -> Steps[_Description]:
    encode_entry = part_encoder(DescribeConfigsResponse, DescribeConfigsResourceResult, caller.version)
    data, count = bytearray(), 0
    try:
        denied = why_denied(broker, caller, TO_DESCRIBE, resource.resource_type, resource.resource_name)
        if denied:
            raise KafkaError(denied, MESSAGES[denied])
        for entry in _entries(broker, resource, effective, topics):
            if wanted is None or entry.name in wanted:
                count += 1
                encode_entry(_shown(entry, request), data)
            yield ENTRY_US
    except KafkaError as refused:
        return _Description(refused.code, refused.message or "", _NO_ENTRIES)
    # Kafka leaves the message of a successful result at its default, the empty string.
    return _Description(ErrorCode.NONE, "", EncodedElements(count, data))


def _entries(broker: Broker, resource: DescribeConfigsResource, effective: EffectiveConfigs, topics: TopicsImage) -> Iterable[ConfigEntry]:
    name = resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            problem = why_illegal(name)
            if problem is not None:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}.")
            if name not in topics.by_name:
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
