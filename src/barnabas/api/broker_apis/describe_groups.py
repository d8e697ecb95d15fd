"""DescribeGroups (key 15): the state and the members of classic groups.

Behaviour: consumer groups are not found here; ConsumerGroupDescribe describes them. Subscriptions
of members are shown only while the group is stable. A group that is named again is described again,
within the limit of :mod:`~barnabas.api.results_by_id`.

Version notes: authorized operations from 3, group instance ids from 4. A group that does not exist
is Dead; from 6 it also carries GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from typing import cast

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_GROUP, checked
from barnabas.api.results_by_id import results_by_id
from barnabas.coordinators.group.classic.classic_groups import not_described
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

NEEDS = checked(DESCRIBE_GROUP)

_NOT_FOUND_VERSION_MIN = 6


def handle(broker: Broker, caller: Caller, request: DescribeGroupsRequest) -> Promise[DescribeGroupsResponse]:
    def operations(group_id: str) -> int:
        asked = request.include_authorized_operations
        return broker.access.operations(caller, ResourceType.GROUP, group_id) if asked else NOT_ASKED

    def described(group_id: str) -> Promise[DescribedGroup]:
        found = broker.groups.run(group_id, lambda machine, _: machine.classic.describe(group_id))
        return found.map(lambda group: _answer(group_id, group, caller.version, operations(group_id)))

    results = results_by_id(
        broker,
        caller,
        request.groups,
        response=DescribeGroupsResponse,
        result=DescribedGroup,
        need=DESCRIBE_GROUP,
        operate=described,
        refused=not_described,
        denied=ErrorCode.GROUP_AUTHORIZATION_FAILED,
    )
    return results.map(lambda groups: DescribeGroupsResponse(groups=cast(list[DescribedGroup], groups)))


def _answer(group_id: str, group: DescribedGroup | ErrorCode, version: int, operations: int) -> DescribedGroup:
    if isinstance(group, ErrorCode):
        return not_described(group_id, client_error(group))
    if version < _NOT_FOUND_VERSION_MIN:
        group.error_code, group.error_message = ErrorCode.NONE, None
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = operations
    return group
