"""UpdateRaftVoter (key 82): a voter reports its endpoints and the versions it supports.

Behaviour: in a quorum with configured voters (kraft.version 0) the leader writes nothing, and
remembers the report for an upgrade.

Version notes: one version.
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: UpdateRaftVoterRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version, caller.listener)
