"""ListConfigResources (key 74): the resources that have settings of their own.

Behaviour: topics, brokers and broker loggers are listed whether or not a setting was changed;
groups and client metrics subscriptions only if they have settings. UNSUPPORTED_VERSION for an
unknown type.

Version notes: version 0 lists client metrics only. From 1 the client names types; an empty list
means all.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.metadata.configs import ResourceType
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.list_config_resources import ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse

NEEDS = on_cluster(Operation.DESCRIBE_CONFIGS)

_SUPPORTED = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def handle(broker: Broker, caller: Caller, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    wanted = {ResourceType.CLIENT_METRICS} if caller.version == 0 else set(request.resource_types) or set(_SUPPORTED)
    if not wanted <= set(_SUPPORTED):
        return ListConfigResourcesResponse(throttle_time_ms=0, error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=[])
    image = broker.metadata.image
    found: list[tuple[str, int]] = []
    if ResourceType.TOPIC in wanted:
        found += [(name, ResourceType.TOPIC) for name in image.topics.by_name]
    for kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        if kind in wanted:
            found += [(str(broker_id), kind) for broker_id in sorted(image.cluster.brokers)]
    for kind in (ResourceType.CLIENT_METRICS, ResourceType.GROUP):
        if kind in wanted:
            found += [(resource.name, kind) for resource in image.configs.by_resource if resource.type == kind]
    versioned = caller.version >= 1
    return ListConfigResourcesResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind) if versioned else ConfigResource(resource_name=name)
            for name, kind in found
        ],
    )
