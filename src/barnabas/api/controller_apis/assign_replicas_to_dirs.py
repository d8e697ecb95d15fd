"""AssignReplicasToDirs (key 73): a broker reports the log directories of its replicas (KIP-858).

Behaviour: the active controller decides. A replica in a directory that has failed meanwhile leaves
the ISR.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: AssignReplicasToDirsRequest) -> Promise[AssignReplicasToDirsResponse]:
    return broker.controller.submit(request)
