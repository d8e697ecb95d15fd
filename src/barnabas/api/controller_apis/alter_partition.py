"""AlterPartition (key 56): the leader of a partition reports a change of its ISR.

Behaviour:
- the active controller decides, partition by partition, guarded by leader epoch and partition
  epoch;
- NEW_LEADER_ELECTED means that the change was made and that the sender is no longer the leader.

Version notes: from 3 the ISR has broker epochs (KIP-903); before that the controller does not check
them.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

NEEDS = on_cluster(Operation.CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
    return broker.controller.submit(request)
