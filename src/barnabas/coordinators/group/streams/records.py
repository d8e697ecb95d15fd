"""The records of streams groups, and their conversion to and from the values of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from barnabas.coordinators.group.streams.member import MemberMetadata, MemberState, Ownership, StreamsMember, UserEndpoint
from barnabas.coordinators.group.streams.tasks import OwnedTasks, TaskId, Tasks, by_subtopology
from barnabas.coordinators.group.streams.topology import Topology
from barnabas.coordinators.group.streams.topology_forms import record_of
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records import (
    streams_group_current_member_assignment as wire_current,
    streams_group_member_metadata as wire_member,
    streams_group_metadata as wire_group,
    streams_group_target_assignment_member as wire_target,
    streams_group_target_assignment_metadata as wire_target_epoch,
    streams_group_topology as wire_topology,
)

# -- the group -------------------------------------------------------------------------------------


def group_epoch(
    group_id: str, epoch: int, *, metadata_hash: int, validated_topology_epoch: int, assignment_configs: Mapping[str, str]
) -> CoordinatorRecord:
    configs = [wire_group.LastAssignmentConfig(key=key, value=value) for key, value in sorted(assignment_configs.items())]
    value = wire_group.StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=configs,
    )
    return CoordinatorRecord(wire_group.StreamsGroupMetadataKey(group_id=group_id), value)


def topology(group_id: str, stored: Topology) -> CoordinatorRecord:
    return CoordinatorRecord(wire_topology.StreamsGroupTopologyKey(group_id=group_id), record_of(stored))


def no_group_at_all(group_id: str, members: Iterable[str]) -> list[CoordinatorRecord]:
    """The order is Kafka's, which refuses to load a group whose tombstone precedes those of its
    members or of its target.
    """
    deletions = [record for member_id in members for record in no_member(group_id, member_id)]
    return [
        *deletions,
        CoordinatorRecord(wire_target_epoch.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        CoordinatorRecord(wire_group.StreamsGroupMetadataKey(group_id=group_id), None),
        CoordinatorRecord(wire_topology.StreamsGroupTopologyKey(group_id=group_id), None),
    ]


# -- members ---------------------------------------------------------------------------------------


def metadata(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    sent = member.metadata
    endpoint = sent.user_endpoint
    value = wire_member.StreamsGroupMemberMetadataValue(
        instance_id=sent.instance_id,
        rack_id=sent.rack_id,
        client_id=sent.client_id,
        client_host=sent.client_host,
        rebalance_timeout_ms=sent.rebalance_timeout_ms,
        topology_epoch=sent.topology_epoch,
        process_id=sent.process_id,
        user_endpoint=wire_member.Endpoint(host=endpoint.host, port=endpoint.port) if endpoint is not None else None,
        client_tags=[wire_member.KeyValue(key=key, value=value) for key, value in sent.client_tags],
    )
    return CoordinatorRecord(wire_member.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def metadata_from(value: wire_member.StreamsGroupMemberMetadataValue) -> MemberMetadata:
    endpoint = value.user_endpoint
    return MemberMetadata(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=UserEndpoint(endpoint.host, endpoint.port) if endpoint is not None else None,
        client_tags=tuple(sorted((tag.key, tag.value) for tag in value.client_tags)),
    )


def ownership(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    owned = member.ownership
    value = wire_current.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=owned.epoch,
        previous_member_epoch=owned.previous_epoch,
        state=owned.state,
        active_tasks=_active_values(owned.assigned.active),
        standby_tasks=_copy_values(owned.assigned.standby),
        warmup_tasks=_copy_values(owned.assigned.warmup),
        active_tasks_pending_revocation=_active_values(owned.revoking.active),
        standby_tasks_pending_revocation=_copy_values(owned.revoking.standby),
        warmup_tasks_pending_revocation=_copy_values(owned.revoking.warmup),
    )
    return CoordinatorRecord(wire_current.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def _active_values(tasks: Mapping[TaskId, int]) -> list[wire_current.TaskIds]:
    return [
        wire_current.TaskIds(
            subtopology_id=subtopology_id,
            partitions=partitions,
            assignment_epochs=[tasks[subtopology_id, partition] for partition in partitions],
        )
        for subtopology_id, partitions in by_subtopology(tasks).items()
    ]


def _copy_values(tasks: Iterable[TaskId]) -> list[wire_current.TaskIds]:
    return [
        wire_current.TaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks).items()
    ]


def ownership_from(value: wire_current.StreamsGroupCurrentMemberAssignmentValue) -> Ownership:
    # Records from before KIP-1251 have no epochs of tasks; the member epoch is the safe choice.
    default_epoch = max(value.member_epoch, 0)
    return Ownership(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=OwnedTasks(
            dict(_active_from(value.active_tasks, default_epoch)), _tasks_from(value.standby_tasks), _tasks_from(value.warmup_tasks)
        ),
        revoking=OwnedTasks(
            dict(_active_from(value.active_tasks_pending_revocation, default_epoch)),
            _tasks_from(value.standby_tasks_pending_revocation),
            _tasks_from(value.warmup_tasks_pending_revocation),
        ),
    )


def _active_from(values: Iterable[wire_current.TaskIds], default_epoch: int) -> Iterator[tuple[TaskId, int]]:
    for each in values:
        epochs = each.assignment_epochs or ()
        if len(epochs) != len(each.partitions):
            epochs = [default_epoch] * len(each.partitions)
        for partition, epoch in zip(each.partitions, epochs, strict=True):
            yield (each.subtopology_id, partition), epoch


def _tasks_from(values: Iterable[wire_current.TaskIds | wire_target.TaskIds]) -> frozenset[TaskId]:
    return frozenset((each.subtopology_id, partition) for each in values for partition in each.partitions)


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        CoordinatorRecord(wire_current.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(wire_target.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        CoordinatorRecord(wire_member.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


# -- the target ------------------------------------------------------------------------------------


def target(group_id: str, member_id: str, tasks: Tasks) -> CoordinatorRecord:
    value = wire_target.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_target_values(tasks.active),
        standby_tasks=_target_values(tasks.standby),
        warmup_tasks=_target_values(tasks.warmup),
    )
    return CoordinatorRecord(wire_target.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def _target_values(tasks: Iterable[TaskId]) -> list[wire_target.TaskIds]:
    return [
        wire_target.TaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks).items()
    ]


def target_from(value: wire_target.StreamsGroupTargetAssignmentMemberValue) -> Tasks:
    return Tasks(_tasks_from(value.active_tasks), _tasks_from(value.standby_tasks), _tasks_from(value.warmup_tasks))


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = wire_target_epoch.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return CoordinatorRecord(wire_target_epoch.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value)
