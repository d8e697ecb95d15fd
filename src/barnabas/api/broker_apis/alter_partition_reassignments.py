"""AlterPartitionReassignments (key 45): move, add or remove replicas of partitions, or cancel a
move.

Behaviour:
- the controller decides; this broker forwards the request;
- the response says that the reassignment is accepted; ListPartitionReassignments shows its
  progress;
- null replicas cancel the reassignment of the partition.

Version notes: from 1 the request says whether the replication factor may change (KIP-860).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse

NEEDS = on_cluster(Operation.ALTER)


def handle(broker: Broker, caller: Caller, request: AlterPartitionReassignmentsRequest) -> Promise[AlterPartitionReassignmentsResponse]:
    return broker.controller.submit(request, caller)
