"""A streams group in the form of StreamsGroupDescribe."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.group.streams.member import StreamsMember
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.group.streams.tasks import TaskId, Tasks, by_subtopology
from barnabas.coordinators.group.streams.topology import InternalTopic, Subtopology
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages import streams_group_describe as wire

_NO_TASKS = Tasks()


def describe_group(group: StreamsGroup) -> wire.DescribedGroup:
    return wire.DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        topology=_topology(group),
        members=[_member(member, group.targets.get(member.member_id, _NO_TASKS)) for member in group.members.values()],
    )


def not_described(group_id: str, error: ErrorCode, message: str | None = None) -> wire.DescribedGroup:
    return wire.DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        topology=None,
        members=[],
    )


def _topology(group: StreamsGroup) -> wire.Topology | None:
    """With the partition counts that were decided, once all topics are there."""
    if group.topology is None:
        return None
    configured = group.configured
    if configured is not None and configured.ready and configured.topology == group.topology:
        subtopologies = [each.subtopology for each in configured.subtopologies.values()]
    else:
        subtopologies = [group.topology.subtopologies[each] for each in sorted(group.topology.subtopologies)]
    return wire.Topology(epoch=group.topology.epoch, subtopologies=[_subtopology(each) for each in subtopologies])


def _subtopology(subtopology: Subtopology) -> wire.Subtopology:
    return wire.Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=sorted(subtopology.source_topics),
        repartition_sink_topics=sorted(subtopology.repartition_sinks),
        state_changelog_topics=_internal(subtopology.changelogs),
        repartition_source_topics=_internal(subtopology.repartition_sources),
    )


def _internal(topics: Iterable[InternalTopic]) -> list[wire.TopicInfo]:
    return [
        wire.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[wire.KeyValue(key=key, value=value) for key, value in topic.configs],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _member(member: StreamsMember, target: Tasks) -> wire.Member:
    sent, owned = member.metadata, member.ownership.assigned
    endpoint = sent.user_endpoint
    return wire.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=sent.instance_id,
        rack_id=sent.rack_id,
        client_id=sent.client_id,
        client_host=sent.client_host,
        topology_epoch=sent.topology_epoch,
        process_id=sent.process_id,
        user_endpoint=wire.Endpoint(host=endpoint.host, port=endpoint.port) if endpoint is not None else None,
        client_tags=[wire.KeyValue(key=key, value=value) for key, value in sent.client_tags],
        task_offsets=[],
        task_end_offsets=[],
        assignment=_assignment(owned.active, owned.standby, owned.warmup),
        target_assignment=_assignment(target.active, target.standby, target.warmup),
        is_classic=False,
    )


def _assignment(active: Iterable[TaskId], standby: Iterable[TaskId], warmup: Iterable[TaskId]) -> wire.Assignment:
    return wire.Assignment(active_tasks=_tasks(active), standby_tasks=_tasks(standby), warmup_tasks=_tasks(warmup))


def _tasks(tasks: Iterable[TaskId]) -> list[wire.TaskIds]:
    return [wire.TaskIds(subtopology_id=subtopology_id, partitions=numbers) for subtopology_id, numbers in by_subtopology(tasks).items()]
