"""ListPartitionReassignments (key 46): the partitions whose replicas are being moved.

Behaviour:
- the controller answers, because it has the newest state; this broker forwards the request;
- topics and partitions that do not exist, or that are not being reassigned, are left out.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse

NEEDS = on_cluster(Operation.DESCRIBE)


def handle(broker: Broker, caller: Caller, request: ListPartitionReassignmentsRequest) -> Promise[ListPartitionReassignmentsResponse]:
    return broker.controller.submit(request, caller)
