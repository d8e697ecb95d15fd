"""AddRaftVoter (key 80): make a controller a voter of the quorum.

Behaviour: the controller must have caught up with the log and support the quorum's kraft.version.
The quorum makes one change at a time. The response is sent when the new voter set is committed.

Version notes: from 1 the client may ask for a response before the commit.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: AddRaftVoterRequest) -> Promise[Any]:
    return broker.controller.submit(request, caller)
