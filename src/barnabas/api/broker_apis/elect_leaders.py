"""ElectLeaders (key 43): leaders elected by hand, of named partitions or of all.

Behaviour:
- decided by the controller; this broker passes the request on;
- preferred: the first replica leads if it is in sync; unclean: partitions without a leader get any replica that is alive;
- partitions that need no election are told so (ELECTION_NOT_NEEDED), unless all were asked for: then they are left out.

Version notes: only preferred elections before 1.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.promise import Promise
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse


def handle(broker: Broker, context: RequestContext, request: ElectLeadersRequest) -> Promise[ElectLeadersResponse]:
    return broker.controller.submit(request, context)
