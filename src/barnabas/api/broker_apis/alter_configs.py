"""AlterConfigs (key 33): replace all settings of topics, brokers, groups or client metrics. Decided by the controller.

Old: what a request does not name is removed. Clients use IncrementalAlterConfigs where they can. What concerns one broker must be
sent to it.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.whose_settings import why_not_ours
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResourceResponse, AlterConfigsResponse


def handle(broker: Broker, caller: Caller, request: AlterConfigsRequest) -> Answer[AlterConfigsResponse]:
    refused = {
        position: AlterConfigsResourceResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=wrong,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for position, resource in enumerate(request.resources)
        if (wrong := why_not_ours(broker, caller, resource.resource_type, resource.resource_name)) is not None
    }
    if len(refused) == len(request.resources):
        return AlterConfigsResponse(throttle_time_ms=0, responses=list(refused.values()))
    others = [each for position, each in enumerate(request.resources) if position not in refused]

    def together(answer: AlterConfigsResponse) -> AlterConfigsResponse:
        from_controller = iter(answer.responses)
        responses = [refused[position] if position in refused else next(from_controller) for position in range(len(request.resources))]
        return AlterConfigsResponse(throttle_time_ms=0, responses=responses)

    return broker.controller.submit(AlterConfigsRequest(resources=others, validate_only=request.validate_only), caller).map(together)
