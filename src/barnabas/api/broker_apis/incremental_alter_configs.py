"""IncrementalAlterConfigs (key 44): change single settings.

Behaviour: this broker itself changes the levels of its loggers. A client must send the settings of
one broker to that broker, which checks the stores of its listeners before it passes the change on:
only this broker can read the files. The controller decides everything else. Results come in the
order of the request.

Version notes: the fields are the same in both versions; 1 is flexible.
"""

from __future__ import annotations

from collections import Counter

from barnabas.api.broker import Broker
from barnabas.api.broker_loggers import alter_loggers
from barnabas.api.config_access import MESSAGES, TO_ALTER, why_denied
from barnabas.api.config_targets import why_unusable, why_wrong_broker
from barnabas.api.needs import checked
from barnabas.metadata.configs import ResourceType
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

NEEDS = checked(*TO_ALTER)


def handle(broker: Broker, caller: Caller, request: IncrementalAlterConfigsRequest) -> Answer[IncrementalAlterConfigsResponse]:
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    decided: dict[int, AlterConfigsResourceResponse] = {}
    for position, resource in enumerate(request.resources):
        denied = why_denied(broker, caller, TO_ALTER, resource.resource_type, resource.resource_name)
        problem = why_wrong_broker(broker, caller, resource.resource_type, resource.resource_name)
        if denied:
            decided[position] = _answer(resource, denied, MESSAGES[denied])
        elif problem is not None:
            decided[position] = _answer(resource, ErrorCode.INVALID_REQUEST, problem)
        elif resource.resource_type == ResourceType.BROKER_LOGGER:
            repeated = times[resource.resource_type, resource.resource_name] > 1
            decided[position] = _alter_loggers(broker, resource, repeated=repeated, dry=request.validate_only)
        else:
            changes = [(each.name, each.config_operation, each.value) for each in resource.configs]
            problem = why_unusable(broker, caller, resource.resource_type, resource.resource_name, changes)
            if problem is not None:
                decided[position] = _answer(resource, ErrorCode.INVALID_REQUEST, problem)
    if len(decided) == len(request.resources):
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=list(decided.values()))
    others = [each for position, each in enumerate(request.resources) if position not in decided]
    passed_on = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)

    def together(answer: IncrementalAlterConfigsResponse) -> IncrementalAlterConfigsResponse:
        from_controller = iter(answer.responses)
        responses = [decided[position] if position in decided else next(from_controller) for position in range(len(request.resources))]
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)

    return broker.controller.submit(passed_on, caller).map(together)


def _alter_loggers(broker: Broker, resource: AlterConfigsResource, *, repeated: bool, dry: bool) -> AlterConfigsResourceResponse:
    if repeated:
        return _answer(resource, ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    changes = [(each.name, each.config_operation, each.value) for each in resource.configs]
    return _answer(resource, *alter_loggers(broker, resource.resource_name, changes, dry=dry))


def _answer(resource: AlterConfigsResource, error: ErrorCode, message: str | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error, error_message=message, resource_type=resource.resource_type, resource_name=resource.resource_name
    )
