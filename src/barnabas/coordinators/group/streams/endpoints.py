"""The partitions behind each application's address, with which members route interactive
queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.coordinators.group.streams.configured_topology import ConfiguredSubtopology
from barnabas.coordinators.group.streams.member import StreamsMember
from barnabas.coordinators.group.streams.tasks import TaskId, by_subtopology
from barnabas.metadata.topics import TopicImage
from barnabas.wire.messages.streams_group_heartbeat import EndpointToPartitions, ResponseEndpoint, TopicPartition


def partitions_by_endpoint(
    members: Iterable[StreamsMember], subtopologies: Mapping[str, ConfiguredSubtopology], topics: Mapping[str, TopicImage]
) -> list[EndpointToPartitions]:
    return [
        EndpointToPartitions(
            user_endpoint=ResponseEndpoint(host=member.metadata.user_endpoint.host, port=member.metadata.user_endpoint.port),
            active_partitions=_partitions(member.ownership.assigned.active, subtopologies, topics),
            standby_partitions=_partitions(member.ownership.assigned.standby, subtopologies, topics),
        )
        for member in members
        if member.metadata.user_endpoint is not None
    ]


def _partitions(
    tasks: Iterable[TaskId], subtopologies: Mapping[str, ConfiguredSubtopology], topics: Mapping[str, TopicImage]
) -> list[TopicPartition]:
    """A source topic may have fewer partitions than its subtopology has tasks."""
    found = []
    for subtopology_id, numbers in by_subtopology(tasks).items():
        configured = subtopologies.get(subtopology_id)
        for name in sorted(configured.subtopology.all_sources) if configured is not None else ():
            count = len(topics[name].partitions) if name in topics else 0
            found.append(TopicPartition(topic=name, partitions=[number for number in numbers if number < count]))
    return found
