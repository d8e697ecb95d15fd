"""The responses to StreamsGroupHeartbeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams.endpoints import partitions_by_endpoint
from barnabas.coordinators.group.streams.group_change import GroupChange
from barnabas.coordinators.group.streams.member import StreamsMember
from barnabas.coordinators.group.streams.statuses import Condition
from barnabas.coordinators.group.streams.tasks import TaskId, by_subtopology
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    ResponseTaskIds,
    Status,
    StreamsGroupHeartbeatResponse,
)


def accepted(
    change: GroupChange,
    member: StreamsMember,
    conditions: Iterable[Condition],
    *,
    heartbeat_interval_ms: int,
    sends_tasks: bool,
    known_endpoint_epoch: int,
    is_new: bool,
    topics: Mapping[str, TopicImage],
) -> StreamsGroupHeartbeatResponse:
    """``sends_tasks`` is False if the member has all tasks that it should have.
    ``known_endpoint_epoch`` is the member's, which gets the endpoints if the group's is another.
    """
    group, owned = change.group, member.ownership.assigned
    return StreamsGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        acceptable_recovery_lag=0,
        task_offset_interval_ms=0,
        status=[Status(status_code=each.code, status_detail=each.detail) for each in conditions],
        active_tasks=_tasks(owned.active) if sends_tasks else None,
        standby_tasks=_tasks(owned.standby) if sends_tasks else None,
        warmup_tasks=_tasks(owned.warmup) if sends_tasks else None,
        # The epochs of a group that is only made by these records start over.
        endpoint_information_epoch=0 if is_new else group.endpoint_epoch,
        partitions_by_user_endpoint=_endpoints(change, topics) if group.endpoint_epoch != known_endpoint_epoch else None,
    )


def _tasks(tasks: Iterable[TaskId]) -> list[ResponseTaskIds]:
    grouped = by_subtopology(tasks).items()
    return [ResponseTaskIds(subtopology_id=subtopology_id, partitions=numbers) for subtopology_id, numbers in grouped]


def _endpoints(change: GroupChange, topics: Mapping[str, TopicImage]) -> list[EndpointToPartitions]:
    configured = change.group.configured
    return partitions_by_endpoint(change.members.values(), configured.subtopologies if configured is not None else {}, topics)


def left(member_id: str, epoch: int) -> StreamsGroupHeartbeatResponse:
    return _empty(ErrorCode.NONE, None, member_id=member_id, epoch=epoch)


def refused(refusal: Refusal) -> StreamsGroupHeartbeatResponse:
    return error_response(refusal.code, refusal.message)


def error_response(error: ErrorCode, message: str | None = None) -> StreamsGroupHeartbeatResponse:
    return _empty(error, message, member_id="", epoch=0)


def _empty(error: ErrorCode, message: str | None, *, member_id: str, epoch: int) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=error,
        error_message=message,
        member_id=member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=0,
        acceptable_recovery_lag=0,
        task_offset_interval_ms=0,
        status=[],
        endpoint_information_epoch=0,
    )
