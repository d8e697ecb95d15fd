"""UpdateRaftVoter (key 82): a voter reports its endpoints and the versions it supports.

Behaviour: in a quorum with configured voters (kraft.version 0) the leader writes nothing, and
remembers the report for an upgrade.

Version notes: one version.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest


def handle(broker: Broker, caller: Caller, request: UpdateRaftVoterRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version)
