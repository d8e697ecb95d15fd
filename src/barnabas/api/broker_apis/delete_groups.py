"""DeleteGroups (key 42): delete groups without members, of any kind, and their offsets.

Behaviour: each group has its own result: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND or success. A group
named twice is deleted once. The state of a share group in the share coordinator goes first; if that
fails, the group stays and has the error.

Version notes: the fields are the same in all versions; 2 is flexible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DELETE_GROUP, checked
from barnabas.api.results_by_id import results_by_id
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

NEEDS = checked(DELETE_GROUP)


def handle(broker: Broker, caller: Caller, request: DeleteGroupsRequest) -> Promise[DeleteGroupsResponse]:
    group_ids = list(dict.fromkeys(request.groups_names))

    def delete(group_id: str) -> Promise[DeletableGroupResult]:
        def delete_group(error: ErrorCode) -> Promise[ErrorCode]:
            return Promise.kept(error) if error else broker.groups.run(group_id, _deletion(group_id))

        return broker.share_group_states.delete_group(group_id).followed_by(delete_group).map(lambda code: _result(group_id, code))

    results = results_by_id(
        broker,
        caller,
        group_ids,
        response=DeleteGroupsResponse,
        result=DeletableGroupResult,
        need=DELETE_GROUP,
        operate=delete,
        refused=_result,
        denied=ErrorCode.GROUP_AUTHORIZATION_FAILED,
    )
    return results.map(lambda each: DeleteGroupsResponse(throttle_time_ms=0, results=cast(list[DeletableGroupResult], each)))


def _result(group_id: str, code: ErrorCode) -> DeletableGroupResult:
    return DeletableGroupResult(group_id=group_id, error_code=client_error(code))


def _deletion(group_id: str) -> Callable[[GroupMachine, int], Outcome[ErrorCode]]:
    def delete(machine: GroupMachine, now_ms: int) -> Outcome[ErrorCode]:
        group = machine.shard.groups.get(group_id)
        error = group.check_delete() if group is not None else ErrorCode.GROUP_ID_NOT_FOUND
        if group is None or error:
            return Outcome(error)
        return Outcome(ErrorCode.NONE, [*machine.offsets.tombstones_of(group_id), *group.tombstones()])

    return delete
