"""AlterClientQuotas (key 49): set and remove quotas of users, client ids and addresses.

Behaviour:
- the controller decides; this broker forwards the request. Each entity has its own result;
- with ``validate_only`` the controller checks the request and changes nothing;
- removing a quota that is not set is no error.

Version notes: 1 is flexible, and otherwise equal to 0.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse

NEEDS = on_cluster(Operation.ALTER_CONFIGS)


def handle(broker: Broker, caller: Caller, request: AlterClientQuotasRequest) -> Promise[AlterClientQuotasResponse]:
    return broker.controller.submit(request, caller)
