"""AlterConfigs (key 33): replace all settings of topics, brokers, groups or client metrics. Decided by the controller.

Old: what a request does not name is removed. Clients use IncrementalAlterConfigs where they can.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.promise import Promise
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse


def handle(broker: Broker, context: RequestContext, request: AlterConfigsRequest) -> Promise[AlterConfigsResponse]:
    return broker.controller.submit(request)
