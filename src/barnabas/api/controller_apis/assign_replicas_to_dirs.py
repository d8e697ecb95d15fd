"""AssignReplicasToDirs (key 73): a broker with several directories says where its replicas lie (KIP-858).

Behaviour:
- decided by the active controller; a replica in a directory that failed meanwhile leaves the in-sync replicas.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse


def handle(broker: Broker, caller: Caller, request: AssignReplicasToDirsRequest) -> Promise[AssignReplicasToDirsResponse]:
    return broker.controller.submit(request)
