"""Vote (key 52): a candidate asks a voter for its vote, or with pre-vote whether it would vote.

Behaviour: a voter votes once in an epoch, for a replica whose log is at least as up to date as its
own, and writes the vote to disk before it answers.

Version notes: directory ids and the leader's address from 1 (KIP-853), pre-vote from 2 (KIP-996).
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.vote import VoteRequest

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: VoteRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version, caller.listener)
