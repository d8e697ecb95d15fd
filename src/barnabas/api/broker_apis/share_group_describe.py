"""ShareGroupDescribe (key 77): the state, the members and the assignments of share groups.

Behaviour: GROUP_ID_NOT_FOUND for a group that does not exist and for a group of another kind.
Assignments leave out topics that were deleted meanwhile. A group with a topic that the caller may
not describe is TOPIC_AUTHORIZATION_FAILED as a whole.

Version notes: version 0 was for early access and is gone.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_GROUP, DESCRIBE_TOPIC, checked
from barnabas.api.share_protocol import share_groups_are_served
from barnabas.coordinators.group.share.description import not_described
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest, ShareGroupDescribeResponse

NEEDS = checked(DESCRIBE_GROUP, DESCRIBE_TOPIC)

_HIDDEN_TOPIC = "The group has described topic(s) that the client is not authorized to describe."


def handle(broker: Broker, caller: Caller, request: ShareGroupDescribeRequest) -> Promise[ShareGroupDescribeResponse]:
    served = share_groups_are_served(broker)
    may_describe = broker.access.allowed(caller, DESCRIBE_GROUP, request.group_ids)

    def described(group_id: str) -> Promise[DescribedGroup]:
        if not served:
            return Promise.kept(not_described(group_id, ErrorCode.UNSUPPORTED_VERSION))
        if group_id not in may_describe:
            return Promise.kept(not_described(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        if not group_id:
            return Promise.kept(not_described(group_id, ErrorCode.INVALID_GROUP_ID))
        found = broker.groups.run(group_id, lambda machine, _: machine.share.describe(group_id))
        return found.map(lambda group: _answer(broker, caller, request, group_id, group))

    answers = all_of([described(group_id) for group_id in request.group_ids])
    return answers.map(lambda groups: ShareGroupDescribeResponse(throttle_time_ms=0, groups=groups))


def _answer(
    broker: Broker, caller: Caller, request: ShareGroupDescribeRequest, group_id: str, group: DescribedGroup | ErrorCode
) -> DescribedGroup:
    if isinstance(group, ErrorCode):
        return not_described(group_id, client_error(group))
    if group.error_code != ErrorCode.NONE:
        return group
    shown = {topic.topic_name for member in group.members for topic in member.assignment.topic_partitions}
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, shown, filters=True)
    if any(name not in may_describe for name in shown):
        return not_described(group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, _HIDDEN_TOPIC)
    asked = request.include_authorized_operations
    group.authorized_operations = broker.access.operations(caller, ResourceType.GROUP, group_id) if asked else NOT_ASKED
    return group
