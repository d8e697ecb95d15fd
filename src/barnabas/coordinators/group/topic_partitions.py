"""Partitions grouped by their topic, as records and responses contain them."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.model.ids import Uuid


def by_topic(partitions: Iterable[IdPartition]) -> dict[Uuid, list[int]]:
    """Sorted, so that the same assignment always has the same bytes."""
    grouped: dict[Uuid, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        grouped.setdefault(topic_id, []).append(partition)
    return grouped
