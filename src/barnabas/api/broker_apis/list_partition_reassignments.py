"""ListPartitionReassignments (key 46): partitions whose replicas are being moved.

Behaviour:
- answered by the controller, which knows first; this broker passes the request on;
- topics and partitions that do not exist, or do not move, are left out.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse


def handle(broker: Broker, caller: Caller, request: ListPartitionReassignmentsRequest) -> Promise[ListPartitionReassignmentsResponse]:
    return broker.controller.submit(request, caller)
