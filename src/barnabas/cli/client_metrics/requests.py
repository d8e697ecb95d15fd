"""The requests of ``barnabas client-metrics``: subscriptions are settings of a resource of their
own, which librdkafka does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas import __version__
from barnabas.cli.cluster.broker_requests import Broker, Brokers, refuse_error
from barnabas.cli.configs.resources import ConfigSource, Operation, ResourceKind
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

METRICS, INTERVAL_MS, MATCH = "metrics", "interval.ms", "match"


@dataclass(frozen=True, slots=True)
class Subscription:
    name: str
    metrics: tuple[str, ...]
    interval_ms: int
    match: tuple[str, ...]
    # The settings that are not defaults.
    own: frozenset[str]


def subscription_names(brokers: Brokers) -> list[str]:
    # In version 0 the API lists these resources alone, also with brokers before Kafka 4.1.
    response: ListConfigResourcesResponse = brokers.ask(_any_of(brokers), ListConfigResourcesRequest(), version_max=0)
    refuse_error(response.error_code, None, "Cannot list the subscriptions")
    return sorted(each.resource_name for each in response.config_resources)


def describe_subscriptions(brokers: Brokers, names: Sequence[str]) -> list[Subscription]:
    if not names:
        return []
    resources = [
        DescribeConfigsResource(resource_type=ResourceKind.CLIENT_METRICS, resource_name=name, configuration_keys=None) for name in names
    ]
    response: DescribeConfigsResponse = brokers.ask(_any_of(brokers), DescribeConfigsRequest(resources=resources))
    found = []
    for result in response.results:
        refuse_error(result.error_code, result.error_message, f"Cannot describe {result.resource_name}")
        values = {each.name: each.value or "" for each in result.configs}
        own = frozenset(each.name for each in result.configs if each.config_source == ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG)
        found.append(
            Subscription(result.resource_name, _items(values[METRICS]), int(values[INTERVAL_MS]), _items(values[MATCH]), own),
        )
    return sorted(found, key=lambda each: each.name)


def alter_subscription(brokers: Brokers, name: str, changes: Mapping[str, str | None]) -> None:
    """A value of None removes the setting; a subscription without settings does not exist."""
    configs = [
        AlterableConfig(name=key, config_operation=Operation.DELETE if value is None else Operation.SET, value=value)
        for key, value in changes.items()
    ]
    resource = AlterConfigsResource(resource_type=ResourceKind.CLIENT_METRICS, resource_name=name, configs=configs)
    response: IncrementalAlterConfigsResponse = brokers.ask_controller(
        IncrementalAlterConfigsRequest(resources=[resource], validate_only=False),
        codes=lambda response: [each.error_code for each in response.responses],
    )
    for each in response.responses:
        refuse_error(each.error_code, each.error_message, f"Cannot alter {name}")


def receives_metrics(brokers: Brokers) -> bool:
    """Whether a broker has a place for the metrics of clients: only then it announces the API."""
    request = ApiVersionsRequest(client_software_name="barnabas", client_software_version=__version__)
    for broker in brokers.all():
        response: ApiVersionsResponse = brokers.ask(broker, request)
        if any(each.api_key == ApiKey.PUSH_TELEMETRY for each in response.api_keys):
            return True
    return False


def _any_of(brokers: Brokers) -> Broker:
    return Broker(-1, brokers.cluster.reachable)


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",")) if text else ()
