"""UpdateRaftVoter (key 82): a voter tells its addresses and which versions it understands.

Behaviour: in a quorum whose voters are configured (kraft.version 0) nothing is written; the leader remembers it for an upgrade.
Version notes: none.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.promise import Promise
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest


def handle(broker: Broker, context: RequestContext, request: UpdateRaftVoterRequest) -> Promise[Any]:
    return broker.quorum.serve(request, context.api_version)
