"""IncrementalAlterConfigs (key 44): change single settings.

Behaviour: levels of a broker's loggers are changed here, on the broker that was asked; everything else is decided by the
controller. A request may hold both, and answers come in the order of the request.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.broker_loggers import alter_loggers
from barnabas.api.request_context import RequestContext
from barnabas.metadata.configs import ResourceType
from barnabas.model.promise import Answer
from barnabas.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def handle(broker: Broker, context: RequestContext, request: IncrementalAlterConfigsRequest) -> Answer[IncrementalAlterConfigsResponse]:
    loggers = [each for each in request.resources if each.resource_type == ResourceType.BROKER_LOGGER]
    others = [each for each in request.resources if each.resource_type != ResourceType.BROKER_LOGGER]
    altered = [_alter_loggers(broker, each, dry=request.validate_only) for each in loggers]
    if not others:
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=altered)
    passed_on = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)
    return broker.controller.submit(passed_on).map(
        lambda decided: IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[*altered, *decided.responses])
    )


def _alter_loggers(broker: Broker, resource: AlterConfigsResource, *, dry: bool) -> AlterConfigsResourceResponse:
    changes = [(each.name, each.config_operation, each.value) for each in resource.configs]
    error, message = alter_loggers(broker, resource.resource_name, changes, dry=dry)
    return AlterConfigsResourceResponse(
        error_code=error, error_message=message, resource_type=resource.resource_type, resource_name=resource.resource_name
    )
