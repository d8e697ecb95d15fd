"""AlterConfigs (key 33): replace all settings of topics, brokers, groups or client metrics.

Behaviour:
- the controller decides; this broker forwards the request, and puts the results in the order of the
  request;
- a setting that the request does not name is removed, which is why clients prefer
  IncrementalAlterConfigs;
- a client must send the settings of one broker to that broker; any other broker answers
  INVALID_REQUEST. The broker checks the stores of its listeners, which only it can read.

Version notes: the fields are the same in all versions; 2 is flexible.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.api.broker import Broker
from barnabas.api.config_access import MESSAGES, TO_ALTER, why_denied
from barnabas.api.config_targets import why_unusable, why_wrong_broker
from barnabas.api.needs import checked
from barnabas.controller.core.configs import Operation
from barnabas.metadata.configs import ConfigResource
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

NEEDS = checked(*TO_ALTER)


def handle(broker: Broker, caller: Caller, request: AlterConfigsRequest) -> Answer[AlterConfigsResponse]:
    refused = {
        position: AlterConfigsResourceResponse(
            error_code=error,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for position, resource in enumerate(request.resources)
        for error, message in _why_refused(broker, caller, resource)
    }
    if len(refused) == len(request.resources):
        return AlterConfigsResponse(throttle_time_ms=0, responses=list(refused.values()))
    others = [each for position, each in enumerate(request.resources) if position not in refused]

    def together(answer: AlterConfigsResponse) -> AlterConfigsResponse:
        from_controller = iter(answer.responses)
        responses = [refused[position] if position in refused else next(from_controller) for position in range(len(request.resources))]
        return AlterConfigsResponse(throttle_time_ms=0, responses=responses)

    return broker.controller.submit(AlterConfigsRequest(resources=others, validate_only=request.validate_only), caller).map(together)


def _why_refused(broker: Broker, caller: Caller, resource: AlterConfigsResource) -> Iterator[tuple[ErrorCode, str]]:
    """At most one reason."""
    denied = why_denied(broker, caller, TO_ALTER, resource.resource_type, resource.resource_name)
    if denied:
        yield denied, MESSAGES[denied]
        return
    kind, name = resource.resource_type, resource.resource_name
    problem = why_wrong_broker(broker, caller, kind, name)
    if problem is None:
        present = broker.metadata.image.configs.by_resource.get(ConfigResource(kind, name), {})
        named = {each.name for each in resource.configs}
        changes: list[tuple[str, int, str | None]] = [(each.name, Operation.SET, each.value) for each in resource.configs]
        changes += [(each, Operation.DELETE, None) for each in present if each not in named]
        problem = why_unusable(broker, caller, kind, name, changes)
    if problem is not None:
        yield ErrorCode.INVALID_REQUEST, problem
