"""ListGroups (key 16): the groups that this broker coordinates. A client asks every broker to see
all groups.

Behaviour: COORDINATOR_LOAD_IN_PROGRESS while a shard is being loaded, because the list would be
incomplete. A caller that may not describe the cluster sees the groups that it may describe. Filters
ignore case; an unknown state or type matches no group.

Version notes: states and their filter from 4, types and their filter from 5.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import DESCRIBE_CLUSTER, DESCRIBE_GROUP, checked
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

NEEDS = checked(DESCRIBE_CLUSTER, DESCRIBE_GROUP)


def handle(broker: Broker, caller: Caller, request: ListGroupsRequest) -> ListGroupsResponse:
    if broker.groups.runtime.loading:
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, groups=[])
    states = {each.strip().lower() for each in request.states_filter}
    types = {each.lower() for each in request.types_filter}
    access = broker.access
    every = access.may(caller, DESCRIBE_CLUSTER, filters=True)
    groups = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state_name,
            group_type=group.kind.value,
        )
        for machine in broker.groups.runtime.machines()
        for group in machine.shard.groups.values()
        if (not states or group.state_name.lower() in states) and (not types or group.kind.value in types)
        if every or access.may(caller, DESCRIBE_GROUP, group.group_id, filters=True)
    ]
    return ListGroupsResponse(error_code=ErrorCode.NONE, groups=groups)
