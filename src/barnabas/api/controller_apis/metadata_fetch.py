"""Fetch (key 1) on a controller: the metadata log, for voters and observers.

Behaviour:
- only replicas may fetch, and there is only one partition;
- the fetch offset of a voter acknowledges everything below it;
- a log that has diverged from the leader's gets the diverging epoch; a log that ends before the
  leader's begins gets the id of a snapshot;
- a fetch without new data waits up to half a second;
- there are no fetch sessions.

Version notes: the leader's address and directory ids from 17 (KIP-853). From 18 the follower sends
the high watermark that it knows (KIP-1166).
"""

from __future__ import annotations

from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.fetch import FetchRequest

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: FetchRequest) -> Promise[Any]:
    return broker.quorum.serve(request, caller.version, caller.listener)
