"""``range``: contiguous partitions of each topic for each member, with the same partition numbers
for all topics.

The assignor orders the members and cuts the partitions of a topic into as many ranges, the longer
ones first. It cuts topics with equal partition counts and the same subscribers alike, so that one
member gets the records of a key in both topics. Users choose the assignor for that, which is why it
ignores the current assignment.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordinators.group.assignors.assignor import Assignments, IdPartition, PartitionCounts, Subscriber
from barnabas.model.ids import Uuid


def assign_range(subscribers: Sequence[Subscriber], counts: PartitionCounts) -> Assignments:
    shares: dict[str, list[IdPartition]] = {each.member_id: [] for each in subscribers}
    row_of_topic: dict[Uuid, list[str]] = {}
    for each in sorted(subscribers, key=lambda subscriber: subscriber.rank):
        for topic_id in each.topic_ids:
            row_of_topic.setdefault(topic_id, []).append(each.member_id)
    for topic_id, row in row_of_topic.items():
        length, longer = divmod(counts.get(topic_id, 0), len(row))
        start = 0
        for place, member_id in enumerate(row):
            end = start + length + (place < longer)
            shares[member_id].extend((topic_id, partition) for partition in range(start, end))
            start = end
    return {member_id: frozenset(share) for member_id, share in shares.items()}
