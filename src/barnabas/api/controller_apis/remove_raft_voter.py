"""RemoveRaftVoter (key 81): remove a voter from the quorum.

Behaviour: the response is sent when the new voter set is committed. A leader that is removed then
resigns.

Version notes: one version.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: RemoveRaftVoterRequest) -> Promise[Any]:
    return broker.controller.submit(request, caller)
