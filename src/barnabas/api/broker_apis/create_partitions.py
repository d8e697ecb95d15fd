"""CreatePartitions (key 37): add partitions to topics.

Behaviour: the controller decides; this broker forwards the request. Each topic has its own result.
With ``validate_only`` the controller checks the request and creates nothing.

Version notes: the fields are the same in all versions; 2 is flexible. 3 permits
THROTTLING_QUOTA_EXCEEDED (KIP-599).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse


def handle(broker: Broker, caller: Caller, request: CreatePartitionsRequest) -> Promise[CreatePartitionsResponse]:
    return broker.controller.submit(request, caller)
