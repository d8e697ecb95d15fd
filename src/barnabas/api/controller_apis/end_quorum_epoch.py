"""EndQuorumEpoch (key 54): the leader of the quorum resigns and names its preferred successors.

Behaviour: the first successor starts an election at once, and each of the others after a longer
delay, so that they do not split the vote.

Version notes: directory ids of the successors from 1 (KIP-853).
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: EndQuorumEpochRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version, caller.listener)
