"""AlterUserScramCredentials (key 51): set and remove the SCRAM credentials of users.

Behaviour:
- the controller decides; this broker forwards the request;
- a user that is named twice gets DUPLICATE_RESOURCE, and neither change takes effect.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: AlterUserScramCredentialsRequest) -> Promise[AlterUserScramCredentialsResponse]:
    return broker.controller.submit(request, caller)
