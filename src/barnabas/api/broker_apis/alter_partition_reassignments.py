"""AlterPartitionReassignments (key 45): replicas of partitions moved, added, removed, or a move cancelled.

Behaviour:
- decided by the controller; this broker passes the request on;
- answered when the move is accepted; ListPartitionReassignments tells how far it is; no replicas at all means: cancel.

Version notes: whether the replication factor may change (KIP-860) from 1.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse


def handle(broker: Broker, caller: Caller, request: AlterPartitionReassignmentsRequest) -> Promise[AlterPartitionReassignmentsResponse]:
    return broker.controller.submit(request, caller)
