"""AllocateProducerIds (key 67): a block of producer ids for a broker, none of which was ever given out.

Behaviour:
- decided by the active controller; who is not registered with the epoch it names gets STALE_BROKER_EPOCH.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def handle(broker: Broker, caller: Caller, request: AllocateProducerIdsRequest) -> Promise[AllocateProducerIdsResponse]:
    return broker.controller.submit(request)
