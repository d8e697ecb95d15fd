"""FetchSnapshot (key 59): a part of a snapshot of the metadata log.

Behaviour: for replicas that are behind the log start offset of the leader. SNAPSHOT_NOT_FOUND for a
snapshot that was deleted meanwhile; the next fetch names another one.

Version notes: directory ids and the leader's address from 1 (KIP-853).
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: FetchSnapshotRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version, caller.listener)
