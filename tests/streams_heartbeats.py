"""Heartbeats of members of streams groups, short enough to be read as a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

MINUTE_MS = 60_000
TaskLists = Mapping[str, Sequence[int]]


def internal(name: str, partitions: int = 0, *, replicas: int = 0, **configs: str) -> TopicInfo:
    """``cleanup_policy="compact"`` is the setting cleanup.policy."""
    settings = [KeyValue(key=key.replace("_", "."), value=value) for key, value in configs.items()]
    return TopicInfo(name=name, partitions=partitions, replication_factor=replicas, topic_configs=settings)


def subtopology(
    identity: str,
    *sources: str,
    changelogs: Sequence[TopicInfo] = (),
    sinks: Sequence[str] = (),
    repartitions: Sequence[TopicInfo] = (),
    copartitioned: Sequence[tuple[Sequence[int], Sequence[int]]] = (),
    patterns: Sequence[str] = (),
) -> Subtopology:
    """``copartitioned`` are pairs of indexes: into ``sources``, and into ``repartitions``."""
    return Subtopology(
        subtopology_id=identity,
        source_topics=list(sources),
        source_topic_regex=list(patterns),
        state_changelog_topics=list(changelogs),
        repartition_sink_topics=list(sinks),
        repartition_source_topics=list(repartitions),
        copartition_groups=[
            CopartitionGroup(source_topics=list(those), source_topic_regex=[], repartition_source_topics=list(these))
            for those, these in copartitioned
        ],
    )


def topology(*subtopologies: Subtopology, epoch: int = 0) -> Topology:
    return Topology(epoch=epoch, subtopologies=list(subtopologies))


def beat(
    group: str,
    member: str,
    epoch: int,
    *,
    active: TaskLists | None = None,
    standby: TaskLists | None = None,
    warmup: TaskLists | None = None,
    endpoint: tuple[str, int] | None = None,
    tags: Mapping[str, str] | None = None,
    endpoint_epoch: int = 0,
    **options: Any,
) -> StreamsGroupHeartbeatRequest:
    """Lists of tasks that are left out are null if all are, and empty otherwise."""
    lists = [active, standby, warmup]
    if any(tasks is not None for tasks in lists):
        lists = [tasks or {} for tasks in lists]
    return StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        endpoint_information_epoch=endpoint_epoch,
        active_tasks=_tasks(lists[0]),
        standby_tasks=_tasks(lists[1]),
        warmup_tasks=_tasks(lists[2]),
        user_endpoint=Endpoint(host=endpoint[0], port=endpoint[1]) if endpoint is not None else None,
        client_tags=[KeyValue(key=key, value=value) for key, value in tags.items()] if tags is not None else None,
        **options,
    )


def _tasks(tasks: TaskLists | None) -> list[TaskIds] | None:
    return None if tasks is None else [TaskIds(subtopology_id=each, partitions=list(numbers)) for each, numbers in tasks.items()]


def joining(group: str, member: str, sent: Topology | None, **options: Any) -> StreamsGroupHeartbeatRequest:
    given: dict[str, Any] = {"active": {}, "rebalance_timeout_ms": MINUTE_MS, "process_id": member, "endpoint_epoch": -1, **options}
    return beat(group, member, 0, topology=sent, **given)
