"""EndQuorumEpoch (key 54): the leader of the quorum resigns and names its successors.

Behaviour: the first successor stands for election at once, the others after a while each, so that they do not split the vote.
Version notes: successors with their directories from 1 (KIP-853).
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest


def handle(broker: Broker, caller: Caller, request: EndQuorumEpochRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version)
