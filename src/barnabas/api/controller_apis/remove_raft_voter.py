"""RemoveRaftVoter (key 81): a controller stops being a voter of the quorum.

Behaviour: answered when the new voters are committed; a leader that is removed then resigns.
Version notes: none.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest


def handle(broker: Broker, caller: Caller, request: RemoveRaftVoterRequest) -> Promise[Any]:
    return broker.controller.submit(request, caller)
