"""Settings of topics, brokers and groups: values, their sources, documentation, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.console.core.config_value import ConfigSource, ConfigValue, Synonym
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

__all__ = ["ConfigSource", "ConfigValue", "ResourceType", "Synonym", "alter_configs", "describe_configs"]
_SET, _DELETE = 0, 1


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


_SOURCES: Final = {
    1: ConfigSource.TOPIC,
    2: ConfigSource.BROKER_DYNAMIC,
    3: ConfigSource.BROKERS_DYNAMIC,
    4: ConfigSource.BROKER_FILE,
    5: ConfigSource.DEFAULT,
    6: ConfigSource.LOGGER,
    7: ConfigSource.CLIENT_METRICS,
    8: ConfigSource.GROUP,
}
_TYPES: Final = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")


async def describe_configs(client: ClusterClient, kind: ResourceType, name: str) -> list[ConfigValue]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    response: DescribeConfigsResponse = await (
        client.ask_broker(int(name), request)
        if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and name
        else client.ask_any(request)
    )
    result = response.results[0]
    refuse_error(result.error_code, result.error_message, f"Cannot describe the settings of {name}")
    return sorted((_value(each) for each in result.configs), key=lambda each: each.name)


async def alter_configs(
    client: ClusterClient, kind: ResourceType, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False
) -> None:
    """None unsets a value."""
    configs = [
        AlterableConfig(name=each, config_operation=_DELETE if value is None else _SET, value=value) for each, value in changes.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    response: IncrementalAlterConfigsResponse = await (
        client.ask_broker(int(name), request, is_change=True)
        if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and name
        else client.ask_any(request, is_change=True)
    )
    refuse_error(response.responses[0].error_code, response.responses[0].error_message, f"Cannot change the settings of {name}")


def _value(given: DescribeConfigsResourceResult) -> ConfigValue:
    kind = _TYPES[given.config_type] if 0 <= given.config_type < len(_TYPES) else "unknown"
    synonyms = [
        Synonym(each.name, None if given.is_sensitive else each.value, _SOURCES.get(each.source, ConfigSource.UNKNOWN))
        for each in given.synonyms
    ]
    return ConfigValue(
        given.name,
        None if given.is_sensitive else given.value,
        _SOURCES.get(given.config_source, ConfigSource.UNKNOWN),
        kind,
        given.is_sensitive,
        given.read_only,
        given.documentation or "",
        synonyms,
    )
