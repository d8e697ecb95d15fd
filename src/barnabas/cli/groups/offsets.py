"""The offsets of a group, and the ends of the logs that they point into.

These requests name topics by name, not by id: an offset outlives its topic, and then only the name
is left. So newer versions of the requests, which replace the name by the id, are not used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.administration.offset_reset import LogEnds, Partition
from barnabas.cli.cluster.broker_requests import Brokers, CoordinatorOf, refuse_error
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.cluster.topic_metadata import TopicDescription
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse

if TYPE_CHECKING:
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    from barnabas.cli.cluster.client import Admin

_LAST_FETCH_BY_NAME = 9
_LAST_COMMIT_BY_NAME = 9
_NO_OFFSET = -1


Group = Annotated[str, typer.Argument(metavar="GROUP")]
Topics = Annotated[
    list[str], typer.Option("--topic", metavar="TOPIC[:0,2]", help="A topic, or some of its partitions; may be given several times.")
]


def committed_offsets(brokers: Brokers, group_id: str) -> dict[Partition, int]:
    """All offsets that a group has committed. Empty for a group that does not exist."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None)])
    response: OffsetFetchResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP, group_id, request, codes=lambda response: [response.groups[0].error_code], version_max=_LAST_FETCH_BY_NAME
    )
    (group,) = response.groups
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return {}
    refuse_error(group.error_code, None, f"Cannot fetch the offsets of group {group_id}")
    found = {}
    for topic in group.topics:
        for each in topic.partitions:
            partition = Partition(topic.name, each.partition_index)
            refuse_error(each.error_code, None, f"Cannot fetch the offset of group {group_id} in {partition}")
            if each.committed_offset != _NO_OFFSET:
                found[partition] = each.committed_offset
    return found


def commit_offsets(brokers: Brokers, group_id: str, offsets: Mapping[Partition, int]) -> None:
    """Commit without being a member, which a coordinator accepts only while the group is empty."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(partition_index=each.number, committed_offset=offsets[each], committed_metadata="")
                for each in partitions
            ],
        )
        for topic, partitions in _by_topic(offsets)
    ]
    response: OffsetCommitResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP,
        group_id,
        OffsetCommitRequest(group_id=group_id, member_id="", topics=topics),
        codes=_partition_codes,
        version_max=_LAST_COMMIT_BY_NAME,
    )
    for topic in response.topics:
        for each in topic.partitions:
            if each.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                raise Refused(f"Group {group_id} has members now, and only they may commit its offsets.")
            refuse_error(each.error_code, None, f"Cannot reset group {group_id} in {Partition(topic.name, each.partition_index)}")


def delete_offsets(brokers: Brokers, group_id: str, partitions: Collection[Partition]) -> None:
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=each.number) for each in those])
            for topic, those in _by_topic(partitions)
        ],
    )
    response: OffsetDeleteResponse = brokers.ask_coordinator(
        CoordinatorOf.GROUP, group_id, request, codes=lambda response: [response.error_code, *_partition_codes(response)]
    )
    if response.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise Refused(f"There is no group {group_id}.")
    if response.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise Refused(f"Group {group_id} has members that are not consumers, so the coordinator cannot tell which offsets they need.")
    refuse_error(response.error_code, None, f"Cannot delete offsets of group {group_id}")
    for topic in response.topics:
        for each in topic.partitions:
            if each.error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
                raise Refused(f"Members of group {group_id} are subscribed to topic {topic.name}, so its offsets stay.")
            partition = Partition(topic.name, each.partition_index)
            refuse_error(each.error_code, None, f"Cannot delete the offset of group {group_id} in {partition}")


def log_ends(admin: Admin, partitions: Collection[Partition]) -> dict[Partition, LogEnds]:
    """The ends of partitions that exist and have a leader; the others are left out, because no
    broker can report them."""
    specs = _offset_specs()
    led = led_partitions(admin, partitions)
    starts, ends = list_offsets(admin, led, specs.earliest()), list_offsets(admin, led, specs.latest())
    return {each: LogEnds(starts[each], ends[each]) for each in led}


def offsets_at(admin: Admin, partitions: Collection[Partition], timestamp_ms: int) -> dict[Partition, int | None]:
    """The offset of the first record at or after a time; None for a partition without one."""
    specs = _offset_specs()
    found = list_offsets(admin, partitions, specs.for_timestamp(timestamp_ms))
    return {each: None if offset == _NO_OFFSET else offset for each, offset in found.items()}


def led_partitions(admin: Admin, partitions: Collection[Partition]) -> list[Partition]:
    topics = admin.describe_topics(sorted({each.topic for each in partitions}), missing_ok=True)
    led = {Partition(topic.name, each.id) for topic in topics.values() for each in topic.partitions if each.leader is not None}
    return sorted(led.intersection(partitions))


def list_offsets(admin: Admin, partitions: Collection[Partition], spec: OffsetSpec) -> dict[Partition, int]:
    if not partitions:
        return {}
    from confluent_kafka import TopicPartition as RdkafkaPartition

    wanted = {RdkafkaPartition(each.topic, each.number): spec for each in partitions}
    futures = admin.client.list_offsets(wanted, request_timeout=ANSWER_SECONDS_MAX)
    found = {}
    for place, future in futures.items():
        partition = Partition(place.topic, place.partition)
        found[partition] = admin.answer(future, f"Cannot fetch an offset of {partition}").offset
    return found


def _offset_specs() -> Any:
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    return OffsetSpec


def parse_partitions(texts: Iterable[str]) -> dict[str, set[int]]:
    """``orders`` and ``orders:0,2``. A topic with an empty set stands for all its partitions."""
    named: dict[str, set[int]] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if not topic or (colon and not all(each.isdecimal() for each in numbers.split(","))):
            raise Refused(f"--topic takes a topic, or a topic and partitions such as orders:0,2, but was given {text!r}.")
        if not colon:
            named[topic] = set()
        elif named.get(topic) != set():
            named.setdefault(topic, set()).update(int(each) for each in numbers.split(","))
    return named


def existing_partitions(admin: Admin, named: Mapping[str, set[int]]) -> list[Partition]:
    """The partitions that :func:`parse_partitions` names. Raises ``Refused`` when one does not
    exist."""
    described: dict[str, TopicDescription] = admin.describe_topics(list(named))
    partitions = []
    for topic, numbers in named.items():
        there = {each.id for each in described[topic].partitions}
        for number in sorted(numbers - there):
            raise Refused(f"Topic {topic} has no partition {number}.")
        partitions += [Partition(topic, number) for number in sorted(numbers or there)]
    return partitions


def _by_topic(partitions: Iterable[Partition]) -> Iterable[tuple[str, list[Partition]]]:
    return [(topic, list(those)) for topic, those in groupby(sorted(partitions), key=lambda each: each.topic)]


def _partition_codes(response: Any) -> list[int]:
    return [each.error_code for topic in response.topics for each in topic.partitions]
