"""A topology in the forms of the heartbeat and of the log, which have the same fields."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.group.streams.topology import CopartitionGroup, InternalTopic, Subtopology, Topology
from barnabas.wire.coordinator_records import streams_group_topology as wire_record
from barnabas.wire.messages import streams_group_heartbeat as wire_request


def topology_of(sent: wire_request.Topology | wire_record.StreamsGroupTopologyValue) -> Topology:
    """If ids repeat, the last subtopology of an id stays; the heartbeat with them is refused."""
    return Topology(sent.epoch, {each.subtopology_id: _subtopology(each) for each in sent.subtopologies})


def _subtopology(sent: wire_request.Subtopology | wire_record.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=sent.subtopology_id,
        source_topics=tuple(sent.source_topics),
        source_patterns=tuple(sent.source_topic_regex),
        changelogs=_internal(sent.state_changelog_topics),
        repartition_sinks=tuple(sent.repartition_sink_topics),
        repartition_sources=_internal(sent.repartition_source_topics),
        copartition_groups=tuple(
            CopartitionGroup(tuple(group.source_topics), tuple(group.source_topic_regex), tuple(group.repartition_source_topics))
            for group in sent.copartition_groups
        ),
    )


def _internal(topics: Iterable[wire_request.TopicInfo | wire_record.TopicInfo]) -> tuple[InternalTopic, ...]:
    return tuple(
        InternalTopic(
            topic.name, topic.partitions, topic.replication_factor, tuple((config.key, config.value) for config in topic.topic_configs)
        )
        for topic in topics
    )


def record_of(topology: Topology) -> wire_record.StreamsGroupTopologyValue:
    return wire_record.StreamsGroupTopologyValue(
        epoch=topology.epoch,
        subtopologies=[
            wire_record.Subtopology(
                subtopology_id=each.subtopology_id,
                source_topics=list(each.source_topics),
                source_topic_regex=list(each.source_patterns),
                state_changelog_topics=_internal_values(each.changelogs),
                repartition_sink_topics=list(each.repartition_sinks),
                repartition_source_topics=_internal_values(each.repartition_sources),
                copartition_groups=[
                    wire_record.CopartitionGroup(
                        source_topics=list(group.source_topics),
                        source_topic_regex=list(group.source_patterns),
                        repartition_source_topics=list(group.repartition_sources),
                    )
                    for group in each.copartition_groups
                ],
            )
            for each in topology.subtopologies.values()
        ],
    )


def _internal_values(topics: Iterable[InternalTopic]) -> list[wire_record.TopicInfo]:
    return [
        wire_record.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[wire_record.TopicConfig(key=key, value=value) for key, value in topic.configs],
        )
        for topic in topics
    ]
