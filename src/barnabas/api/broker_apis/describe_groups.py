"""DescribeGroups (key 15): the state and the members of classic groups.

Behaviour: consumer groups are not found here; ConsumerGroupDescribe describes them. Subscriptions
of members are shown only while the group is stable.

Version notes: authorized operations from 3, group instance ids from 4. A group that does not exist
is Dead; from 6 it also carries GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from barnabas.api.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.coordinators.group.classic.classic_groups import not_described
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

_NOT_FOUND_VERSION_MIN = 6


def handle(broker: Broker, caller: Caller, request: DescribeGroupsRequest) -> Promise[DescribeGroupsResponse]:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED

    def described(group_id: str) -> Promise[DescribedGroup]:
        found = broker.groups.run(group_id, lambda machine, _: machine.classic.describe(group_id))
        return found.map(lambda group: _answer(group_id, group, caller.version, operations))

    return all_of([described(group_id) for group_id in request.groups]).map(lambda groups: DescribeGroupsResponse(groups=groups))


def _answer(group_id: str, group: DescribedGroup | ErrorCode, version: int, operations: int) -> DescribedGroup:
    if isinstance(group, ErrorCode):
        return not_described(group_id, client_error(group))
    if version < _NOT_FOUND_VERSION_MIN:
        group.error_code, group.error_message = ErrorCode.NONE, None
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = operations
    return group
