"""The start offsets of a share group, and its lag.

The start offset of a partition is the first one that the group has not completely delivered.
Records above it may be delivered already, and in any order, so the lag is not the distance to the
end of the log: the coordinator counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Brokers, CoordinatorOf, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)

_UNKNOWN = -1


class ShareOffset(NamedTuple):
    start: int | None
    """None until a member has fetched from the partition."""
    lag: int | None
    topic_id: Uuid
    leader_epoch: int


def share_offsets(brokers: Brokers, group_id: str) -> dict[Partition, ShareOffset]:
    """All partitions of a group. Empty for a group that does not exist."""
    request = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)])
    response: DescribeShareGroupOffsetsResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP, group_id, request, codes=lambda response: [response.groups[0].error_code]
    )
    (group,) = response.groups
    refuse_error(group.error_code, group.error_message, f"Cannot fetch the offsets of share group {group_id}")
    found = {}
    for topic in group.topics:
        for each in topic.partitions:
            partition = Partition(topic.topic_name, each.partition_index)
            refuse_error(each.error_code, each.error_message, f"Cannot fetch the offset of share group {group_id} in {partition}")
            found[partition] = ShareOffset(_known(each.start_offset), _known(each.lag), topic.topic_id, each.leader_epoch)
    return dict(sorted(found.items()))


def _known(number: int) -> int | None:
    return None if number == _UNKNOWN else number


def start_offsets(offsets: Mapping[Partition, ShareOffset]) -> dict[Partition, int]:
    return {partition: offset.start for partition, offset in offsets.items() if offset.start is not None}


def alter_share_offsets(brokers: Brokers, group_id: str, offsets: Mapping[Partition, int]) -> None:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=topic,
            partitions=[AlterShareGroupOffsetsRequestPartition(partition_index=each.number, start_offset=offsets[each]) for each in those],
        )
        for topic, those in groupby(sorted(offsets), key=lambda each: each.topic)
    ]
    response: AlterShareGroupOffsetsResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP,
        group_id,
        AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics),
        codes=lambda response: [response.error_code, *(each.error_code for topic in response.responses for each in topic.partitions)],
    )
    _refuse_group_error(response.error_code, response.error_message, group_id, "reset")
    for topic in response.responses:
        for each in topic.partitions:
            partition = Partition(topic.topic_name, each.partition_index)
            refuse_error(each.error_code, each.error_message, f"Cannot reset share group {group_id} in {partition}")


def delete_share_offsets(brokers: Brokers, group_id: str, topics: Iterable[str]) -> None:
    request = DeleteShareGroupOffsetsRequest(
        group_id=group_id, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
    )
    response: DeleteShareGroupOffsetsResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP,
        group_id,
        request,
        codes=lambda response: [response.error_code, *(topic.error_code for topic in response.responses)],
    )
    _refuse_group_error(response.error_code, response.error_message, group_id, "deleted")
    for topic in response.responses:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(f"Share group {group_id} has no offsets in topic {topic.topic_name}.")
        refuse_error(topic.error_code, topic.error_message, f"Cannot delete the offsets of share group {group_id} in {topic.topic_name}")


def _refuse_group_error(code: int, message: str | None, group_id: str, deed: str) -> None:
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise Refused(f"There is no share group {group_id}.")
    if code == ErrorCode.NON_EMPTY_GROUP:
        raise Refused(f"Share group {group_id} has members, so its offsets cannot be {deed}.")
    refuse_error(code, message, f"The offsets of share group {group_id} cannot be {deed}")
