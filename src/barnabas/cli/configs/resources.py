"""Resources that have settings, their settings, and changes to them.

librdkafka alters topics, brokers and groups; the other resources are altered with
``admin_request``. Describing is different: confluent-kafka keys the synonyms of a setting by name,
so for a value that is set for the broker, for all brokers and in its file it returns one of the
three, and not the effective one. So settings are described with a request of our own, and with
librdkafka only when the connection is encrypted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.cli.cluster.admin_request import ask, may_ask
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin


class ResourceKind(IntEnum):
    """Kafka's numbers on the wire. The defaults of all brokers are a broker with an empty name."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    UNKNOWN_CONFIG = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class Operation(IntEnum):
    """A change to a setting; Kafka's numbers, which librdkafka uses too."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigResource:
    kind: ResourceKind
    name: str

    @property
    def needs_broker(self) -> bool:
        """Whether only one particular broker can answer."""
        return self.kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER) and bool(self.name)

    def __str__(self) -> str:
        if self.kind is ResourceKind.BROKER and not self.name:
            return "the brokers' defaults"
        return f"{self.kind.name.lower().replace('_', ' ')} {self.name}"


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool
    synonyms: tuple[Synonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source == ConfigSource.DEFAULT_CONFIG.name


class Change(NamedTuple):
    operation: Operation
    name: str
    value: str | None


_KNOWN_TO_LIBRDKAFKA = frozenset({ResourceKind.TOPIC, ResourceKind.BROKER, ResourceKind.GROUP})


def describe_settings(admin: Admin, resource: ConfigResource) -> list[Setting]:
    """All settings of a resource, by name. Raises ``Refused`` when the resource does not exist."""
    by_librdkafka = not may_ask(admin.cluster.properties) and _librdkafka_knows(resource)
    settings = _describe_by_librdkafka(admin, resource) if by_librdkafka else _describe_by_request(admin, resource)
    return sorted(settings, key=lambda each: each.name)


def alter_settings(admin: Admin, resource: ConfigResource, changes: list[Change]) -> None:
    if _librdkafka_knows(resource):
        _alter_by_librdkafka(admin, resource, changes)
    else:
        _alter_by_request(admin, resource, changes)


def _librdkafka_knows(resource: ConfigResource) -> bool:
    return resource.kind in _KNOWN_TO_LIBRDKAFKA and bool(resource.name)


def _describe_by_librdkafka(admin: Admin, resource: ConfigResource) -> list[Setting]:
    _check_broker(admin, resource)
    from confluent_kafka.admin import ConfigResource as RdkafkaResource, ResourceType  # type: ignore[attr-defined]

    target = RdkafkaResource(ResourceType[resource.kind.name], resource.name)
    (future,) = admin.client.describe_configs([target], request_timeout=ANSWER_SECONDS_MAX).values()
    return [_from_librdkafka(entry) for entry in admin.answer(future, f"Cannot describe {resource}").values()]


def _from_librdkafka(entry: Any) -> Setting:
    synonyms = tuple(Synonym(each.name, each.value, source_name(each.source)) for each in entry.synonyms.values())
    return Setting(entry.name, entry.value, source_name(entry.source), entry.is_read_only, entry.is_sensitive, synonyms)


def _describe_by_request(admin: Admin, resource: ConfigResource) -> list[Setting]:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=resource.kind, resource_name=resource.name, configuration_keys=None)],
        include_synonyms=True,
    )
    response: DescribeConfigsResponse = _ask(admin, resource, request)
    (result,) = response.results
    _refuse_error(result.error_code, result.error_message, f"Cannot describe {resource}")
    return [_from_response(each) for each in result.configs]


def _from_response(config: DescribeConfigsResourceResult) -> Setting:
    synonyms = tuple(Synonym(each.name, each.value, source_name(each.source)) for each in config.synonyms)
    return Setting(config.name, config.value, source_name(config.config_source), config.read_only, config.is_sensitive, synonyms)


def _alter_by_librdkafka(admin: Admin, resource: ConfigResource, changes: list[Change]) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource as RdkafkaResource,
        ResourceType,
    )

    from barnabas.cli.cluster.client import error_of, phrase

    entries = [ConfigEntry(change.name, change.value, incremental_operation=AlterConfigOpType[change.operation.name]) for change in changes]
    doing = f"Cannot alter {resource}"
    _check_broker(admin, resource)
    try:
        target = RdkafkaResource(ResourceType[resource.kind.name], resource.name, incremental_configs=entries)
        (future,) = admin.client.incremental_alter_configs([target], request_timeout=ANSWER_SECONDS_MAX).values()
    except KafkaException as error:
        raise Refused(f"{doing}: {phrase(error_of(error))}.") from error
    admin.answer(future, doing)


def _alter_by_request(admin: Admin, resource: ConfigResource, changes: list[Change]) -> None:
    configs = [AlterableConfig(name=change.name, config_operation=change.operation, value=change.value) for change in changes]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=resource.kind, resource_name=resource.name, configs=configs)],
        validate_only=False,
    )
    response: IncrementalAlterConfigsResponse = _ask(admin, resource, request)
    (result,) = response.responses
    _refuse_error(result.error_code, result.error_message, f"Cannot alter {resource}")


def _ask(admin: Admin, resource: ConfigResource, request: Any) -> Any:
    address = _address_of_broker(admin, resource.name) if resource.needs_broker else admin.cluster.reachable
    return ask(address, admin.cluster.properties, request, seconds_max=ANSWER_SECONDS_MAX)


def _check_broker(admin: Admin, resource: ConfigResource) -> None:
    """librdkafka would wait for a broker that does not exist; looking up its address fails at
    once."""
    if resource.needs_broker:
        _address_of_broker(admin, resource.name)


def _address_of_broker(admin: Admin, name: str) -> str:
    future = admin.client.describe_cluster(request_timeout=ANSWER_SECONDS_MAX)
    nodes = {str(node.id): node for node in admin.answer(future, "Cannot list the cluster's brokers").nodes}
    if name not in nodes:
        raise Refused(f"There is no broker {name}; the cluster has {', '.join(sorted(nodes))}.")
    return f"{nodes[name].host}:{nodes[name].port}"


def _refuse_error(code: int, message: str | None, doing: str) -> None:
    if code != ErrorCode.NONE:
        text = " ".join((message or ErrorCode(code).name).split()).rstrip(".!")
        raise Refused(f"{doing}: {text}.")


def source_name(source: int) -> str:
    """The name of a source; the number of a source that this release does not know."""
    return ConfigSource(source).name if source in ConfigSource._value2member_map_ else f"SOURCE_{source}"
