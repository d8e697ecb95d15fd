"""UpdateRaftVoter (key 82): a voter tells its addresses and which versions it understands.

Behaviour: in a quorum whose voters are configured (kraft.version 0) nothing is written; the leader remembers it for an upgrade.
Version notes: none.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest


def handle(broker: Broker, caller: Caller, request: UpdateRaftVoterRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version)
