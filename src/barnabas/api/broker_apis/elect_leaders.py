"""ElectLeaders (key 43): start leader elections for some partitions or for all.

Behaviour:
- the controller decides; this broker forwards the request;
- a preferred election gives leadership to the first replica if it is in sync; an unclean election
  gives partitions without a leader any live replica;
- ELECTION_NOT_NEEDED for a named partition that needs no election. A request for all partitions
  leaves such partitions out of the response.

Version notes: version 0 has only preferred elections and no top-level error code; there each
partition carries the error.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: ElectLeadersRequest) -> Promise[ElectLeadersResponse]:
    answer: Promise[ElectLeadersResponse] = broker.controller.submit(request, caller)
    return answer.map(_without_own_error) if caller.version == 0 else answer


def _without_own_error(response: ElectLeadersResponse) -> ElectLeadersResponse:
    response.error_code = ErrorCode.NONE
    return response
