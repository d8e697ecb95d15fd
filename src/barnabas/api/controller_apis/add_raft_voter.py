"""AddRaftVoter (key 80): a controller becomes a voter of the quorum.

Behaviour: it must have the log and understand the quorum's kraft.version; one change at a time. Answered when the new voters are
committed.
Version notes: an answer before the commit can be asked for from 1.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest


def handle(broker: Broker, caller: Caller, request: AddRaftVoterRequest) -> Promise[Any]:
    return broker.controller.submit(request, caller)
