"""BeginQuorumEpoch (key 53): a new leader of the quorum announces itself to a voter.

Behaviour: a voter that learns of a later epoch follows its leader at once.

Version notes: directory ids and the leader's addresses from 1 (KIP-853).
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: BeginQuorumEpochRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version, caller.listener)
