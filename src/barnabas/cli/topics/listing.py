"""A topic as one row of a list. librdkafka is not needed for it."""

from __future__ import annotations

from typing import Any

from barnabas.cli.cluster.topic_metadata import TopicDescription


def summary(topic: TopicDescription) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "replication_factor": max((len(partition.replicas) for partition in topic.partitions), default=0),
    }
