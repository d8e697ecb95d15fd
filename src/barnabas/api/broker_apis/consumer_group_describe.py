"""ConsumerGroupDescribe (key 69): the state, the members and the assignments of consumer groups.

Behaviour: GROUP_ID_NOT_FOUND for a group that does not exist and for a classic group, which
DescribeGroups describes. Assignments leave out topics that were deleted meanwhile. A group with a
topic that the caller may not describe is TOPIC_AUTHORIZATION_FAILED as a whole. A group that is
named again is described again, within the limit of :mod:`~barnabas.api.results_by_id`.

Version notes: from 1 each member carries its type, classic or consumer.
"""

from __future__ import annotations

from typing import cast

from barnabas.api.broker import Broker
from barnabas.api.consumer_protocol import consumer_protocol_is_served
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_GROUP, DESCRIBE_TOPIC, checked
from barnabas.api.results_by_id import results_by_id
from barnabas.coordinators.group.consumer.description import not_described
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup

NEEDS = checked(DESCRIBE_GROUP, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: ConsumerGroupDescribeRequest) -> Promise[ConsumerGroupDescribeResponse]:
    if not consumer_protocol_is_served(broker):
        unsupported = [not_described(group_id, ErrorCode.UNSUPPORTED_VERSION) for group_id in request.group_ids]
        return Promise.kept(ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=unsupported))

    def described(group_id: str) -> Promise[DescribedGroup]:
        if not group_id:
            return Promise.kept(not_described(group_id, ErrorCode.INVALID_GROUP_ID))
        found = broker.groups.run(group_id, lambda machine, _: machine.consumer.describe(group_id))
        return found.map(lambda group: _answer(broker, caller, request, group_id, group))

    results = results_by_id(
        broker,
        caller,
        request.group_ids,
        response=ConsumerGroupDescribeResponse,
        result=DescribedGroup,
        need=DESCRIBE_GROUP,
        operate=described,
        refused=not_described,
        denied=ErrorCode.GROUP_AUTHORIZATION_FAILED,
    )
    return results.map(lambda groups: ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=cast(list[DescribedGroup], groups)))


def _answer(
    broker: Broker, caller: Caller, request: ConsumerGroupDescribeRequest, group_id: str, group: DescribedGroup | ErrorCode
) -> DescribedGroup:
    if isinstance(group, ErrorCode):
        return not_described(group_id, client_error(group))
    if group.error_code != ErrorCode.NONE:
        return group
    shown = {
        topic.topic_name
        for member in group.members
        for each in (member.assignment, member.target_assignment)
        for topic in each.topic_partitions
    }
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, shown, filters=True)
    if any(name not in may_describe for name in shown):
        refused = not_described(group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        refused.error_message = "The group has described topic(s) that the client is not authorized to describe."
        return refused
    asked = request.include_authorized_operations
    group.authorized_operations = broker.access.operations(caller, ResourceType.GROUP, group_id) if asked else NOT_ASKED
    return group
