"""CreateAcls (key 30): add access rules.

Behaviour: the controller decides; this broker forwards the request. Each rule has its
own result. A rule that exists already is no error.
SECURITY_DISABLED, for each rule, from a node without an authorizer.

Version notes: the fields are the same in all versions; 2 is flexible. The resource type USER is
valid from 3.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.broker_apis.describe_acls import SECURITY_DISABLED
from barnabas.api.needs import on_cluster
from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: CreateAclsRequest) -> Answer[CreateAclsResponse]:
    if not broker.access.enabled:
        refused: CreateAclsResponse = error_response(request, ErrorCode.SECURITY_DISABLED, SECURITY_DISABLED)
        return refused
    return broker.controller.submit(request, caller)
