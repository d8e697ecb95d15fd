"""ElectLeaders (key 43): leaders elected by hand, of named partitions or of all.

Behaviour:
- decided by the controller; this broker passes the request on;
- preferred: the first replica leads if it is in sync; unclean: partitions without a leader get any replica that is alive;
- partitions that need no election are told so (ELECTION_NOT_NEEDED), unless all were asked for: then they are left out.

Version notes: only preferred elections before 1, and no error code of the response itself: it is told for every partition.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse


def handle(broker: Broker, caller: Caller, request: ElectLeadersRequest) -> Promise[ElectLeadersResponse]:
    answer: Promise[ElectLeadersResponse] = broker.controller.submit(request, caller)
    return answer.map(_without_own_error) if caller.version == 0 else answer


def _without_own_error(response: ElectLeadersResponse) -> ElectLeadersResponse:
    response.error_code = ErrorCode.NONE
    return response
