"""Admission of a heartbeat: its fields and its epoch.

epoch   means            must bring
 0      join or rejoin   rebalance timeout, topology, and no task
>0      stay             a member id of the group, with its current or previous epoch
-1      leave            a member id

As in Kafka 4.3, members have no instance ids, send no offsets of tasks and no warm-up tasks, and
name their source topics one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams.configured_topology import ConfiguredSubtopology
from barnabas.coordinators.group.streams.member import JOIN_EPOCH, NO_REBALANCE_TIMEOUT, STATIC_LEAVE_EPOCH, StreamsMember
from barnabas.coordinators.group.streams.tasks import TaskId, Tasks
from barnabas.coordinators.group.streams.topology import why_invalid
from barnabas.coordinators.group.streams.topology_forms import topology_of
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds


def check_request(request: StreamsGroupHeartbeatRequest) -> Refusal | None:
    problem = _why_unsupported(request) or _why_invalid(request)
    if problem is not None:
        return Refusal(ErrorCode.INVALID_REQUEST, problem)
    if request.topology is None:
        return None
    problem = why_invalid(topology_of(request.topology), len(request.topology.subtopologies))
    return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, problem) if problem is not None else None


def _why_unsupported(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.instance_id is not None:
        return "Static membership is not yet supported."
    if request.task_offsets is not None:
        return "TaskOffsets are not supported yet."
    if request.task_end_offsets is not None:
        return "TaskEndOffsets are not supported yet."
    if request.warmup_tasks:
        return "WarmupTasks are not supported yet."
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
        return "Regular expressions for source topics are not supported yet."
    return None


def _why_invalid(request: StreamsGroupHeartbeatRequest) -> str | None:
    if not request.member_id.strip():
        return "MemberId can't be empty."
    if not request.group_id.strip():
        return "GroupId can't be empty."
    if request.rack_id is not None and not request.rack_id.strip():
        return "RackId can't be empty."
    if request.member_epoch == JOIN_EPOCH and (problem := _why_invalid_join(request)) is not None:
        return problem
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        return "InstanceId can't be null."
    if request.member_epoch < STATIC_LEAVE_EPOCH:
        return f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
    lists = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if any(tasks is not None for tasks in lists) and any(tasks is None for tasks in lists):
        return "If one task-type is non-null, all must be non-null."
    if request.member_epoch != JOIN_EPOCH and request.topology is not None:
        return "Topology can only be provided when (re-)joining."
    return None


def _why_invalid_join(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == NO_REBALANCE_TIMEOUT:
        return "RebalanceTimeoutMs must be provided in first request."
    lists = {"ActiveTasks": request.active_tasks, "StandbyTasks": request.standby_tasks, "WarmupTasks": request.warmup_tasks}
    for name, tasks in lists.items():
        if tasks is None or tasks:
            return f"{name} must be empty when (re-)joining."
    if request.topology is None:
        return "Topology must be non-null when (re-)joining."
    return None


def reported_tasks(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """None if the heartbeat does not report tasks."""
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return Tasks(_tasks(request.active_tasks), _tasks(request.standby_tasks), _tasks(request.warmup_tasks))


def _tasks(listed: Iterable[TaskIds]) -> frozenset[TaskId]:
    return frozenset((each.subtopology_id, partition) for each in listed for partition in each.partitions)


def check_tasks(reported: Tasks, subtopologies: Mapping[str, ConfiguredSubtopology]) -> Refusal | None:
    """A member can only have tasks of the topology."""
    for subtopology_id, partition in sorted((*reported.active, *reported.standby, *reported.warmup)):
        subtopology = subtopologies.get(subtopology_id)
        if subtopology is None:
            return Refusal(ErrorCode.INVALID_REQUEST, f"Subtopology {subtopology_id} does not exist in the topology.")
        if not 0 <= partition < subtopology.task_count:
            message = (
                f"Task {partition} for subtopology {subtopology_id} is invalid. Number of tasks for this subtopology: "
                f"{subtopology.task_count}"
            )
            return Refusal(ErrorCode.INVALID_REQUEST, message)
    return None


def admit(member: StreamsMember, epoch: int, reported: Tasks | None) -> StreamsMember | Refusal:
    """The member, unless it is a zombie. Its previous epoch is accepted while it has only its
    assigned tasks: then the response with the new epoch was lost.
    """
    if epoch in (JOIN_EPOCH, member.epoch):
        return member
    greater = epoch > member.epoch
    owned = member.ownership
    if not greater and epoch == owned.previous_epoch and reported is not None and owned.assigned.all_of(reported):
        return member
    message = (
        f"The streams group member has a {'greater' if greater else 'smaller'} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
    )
    return Refusal(ErrorCode.FENCED_MEMBER_EPOCH, message)


def unknown_member(group_id: str, member_id: str) -> Refusal:
    return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")
