"""AllocateProducerIds (key 67): reserve a block of unused producer ids for a broker.

Behaviour: the active controller decides. STALE_BROKER_EPOCH for a broker that is not registered
with the epoch of the request.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: AllocateProducerIdsRequest) -> Promise[AllocateProducerIdsResponse]:
    return broker.controller.submit(request)
