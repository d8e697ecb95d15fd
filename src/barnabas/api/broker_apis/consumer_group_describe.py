"""ConsumerGroupDescribe (key 69): the state, the members and the assignments of consumer groups.

Behaviour: GROUP_ID_NOT_FOUND for a group that does not exist and for a classic group, which
DescribeGroups describes. Assignments leave out topics that were deleted meanwhile.

Version notes: from 1 each member carries its type, classic or consumer.
"""

from __future__ import annotations

from barnabas.api.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from barnabas.api.broker import Broker
from barnabas.api.consumer_protocol import consumer_protocol_is_served
from barnabas.api.coordinator_errors import client_error
from barnabas.coordinators.group.consumer.description import not_described
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup


def handle(broker: Broker, caller: Caller, request: ConsumerGroupDescribeRequest) -> Promise[ConsumerGroupDescribeResponse]:
    served = consumer_protocol_is_served(broker)
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED

    def described(group_id: str) -> Promise[DescribedGroup]:
        if not served:
            return Promise.kept(not_described(group_id, ErrorCode.UNSUPPORTED_VERSION))
        if not group_id:
            return Promise.kept(not_described(group_id, ErrorCode.INVALID_GROUP_ID))
        found = broker.groups.run(group_id, lambda machine, _: machine.consumer.describe(group_id))
        return found.map(lambda group: _answer(group_id, group, operations))

    answers = all_of([described(group_id) for group_id in request.group_ids])
    return answers.map(lambda groups: ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=groups))


def _answer(group_id: str, group: DescribedGroup | ErrorCode, operations: int) -> DescribedGroup:
    if isinstance(group, ErrorCode):
        return not_described(group_id, client_error(group))
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = operations
    return group
