"""AlterPartition (key 56): the leader of a partition reports who is in sync with it.

Behaviour:
- decided by the active controller, partition by partition, guarded by leader epoch and partition epoch;
- NEW_LEADER_ELECTED is told although the change was made: the sender is not the leader any more.

Version notes: epochs of the brokers in sync (KIP-903) from 3; before, they are not checked.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse


def handle(broker: Broker, caller: Caller, request: AlterPartitionRequest) -> Promise[AlterPartitionResponse]:
    return broker.controller.submit(request)
