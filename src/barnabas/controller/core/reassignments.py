"""Replicas moved to other brokers: the new ones are added first, and once they are in sync, the
others are removed.

    replicas [1,2,3], wanted [1,2,4]:   [1,2,4,3], adding [4], removing [3]
    4 is in sync:                       [1,2,4]

A second request replaces the first: replicas that the first was adding and the second does not want
are dropped at once, unless no other replica is in sync. Cancelling a reassignment restores the
earlier replicas. Completion is not decided in this file: every change of the partition checks for
it (``partition_change``).
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partition_change import Wanted
from barnabas.controller.core.partitions import Partitions
from barnabas.controller.core.topics import check_replicas
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def alter_partition_reassignments(partitions: Partitions, request: AlterPartitionReassignmentsRequest) -> Outcome:
    responses = []
    for asked in request.topics:
        results = []
        for each in asked.partitions:
            error, message = ErrorCode.NONE, None
            try:
                _reassign(partitions, asked.name, each, factor_may_change=request.allow_replication_factor_change)
            except KafkaError as refused:
                error, message = refused.code, refused.message
            results.append(ReassignablePartitionResponse(partition_index=each.partition_index, error_code=error, error_message=message))
        responses.append(ReassignableTopicResponse(name=asked.name, partitions=results))
    response = AlterPartitionReassignmentsResponse(
        throttle_time_ms=0,
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=ErrorCode.NONE,
        error_message=None,
        responses=responses,
    )
    return Outcome(response, partitions.records)


def _reassign(partitions: Partitions, name: str, asked: ReassignablePartition, *, factor_may_change: bool) -> None:
    topic = partitions.image.topics.by_name.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = partitions.find(topic, asked.partition_index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{asked.partition_index}.")
    if asked.replicas is None:
        partitions.change(topic, asked.partition_index, _cancelled(partitions, topic, asked.partition_index, partition))
        return
    check_replicas(asked.replicas, partitions.image)
    factor = len(partition.replicas_wanted)
    if not factor_may_change and len(asked.replicas) != factor:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, f"The replication factor is changed from {factor} to {len(asked.replicas)}")
    moved = planned(partition, tuple(asked.replicas))
    isr = tuple(each for each in partition.isr if each in moved.replicas)
    wanted = Wanted(isr=isr, replicas=moved.replicas, removing=moved.removing, adding=moved.adding)
    partitions.change(topic, asked.partition_index, wanted)


class Reassignment(NamedTuple):
    replicas: tuple[int, ...]
    removing: tuple[int, ...]
    adding: tuple[int, ...]


def planned(partition: PartitionImage, target: tuple[int, ...]) -> Reassignment:
    before = tuple(each for each in partition.replicas if each not in partition.adding_replicas)
    if not set(partition.isr) & {*before, *target}:
        # Only replicas that an earlier reassignment was adding are in sync, so they cannot be
        # dropped yet.
        before = partition.replicas
    removing = tuple(sorted(set(before) - set(target)))
    adding = tuple(sorted(set(target) - set(before)))
    return Reassignment((*target, *removing), removing, adding)


def _cancelled(partitions: Partitions, topic: TopicImage, index: int, partition: PartitionImage) -> Wanted:
    if not partition.reassigning:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    replicas = tuple(each for each in partition.replicas if each not in partition.adding_replicas)
    isr = tuple(each for each in partition.isr if each not in partition.adding_replicas)
    if not replicas:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Invalid replica assignment: addingReplicas contains all replicas.")
    eligible = set(partition.eligible_leader_replicas) & set(replicas)
    if not isr and not eligible:
        # Only added replicas are in sync: without them no replica is known to have every record.
        if not partitions.unclean_allowed(topic):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean leader election.",
            )
        isr = replicas[:1]
    return Wanted(isr=isr, replicas=replicas, removing=(), adding=())


def list_partition_reassignments(partitions: Partitions, request: ListPartitionReassignmentsRequest) -> Outcome:
    topics = partitions.image.topics.by_name
    if request.topics is None:
        asked = [(topic, sorted(topic.partitions)) for topic in topics.values()]
    else:
        asked = [(topics[each.name], each.partition_indexes) for each in request.topics if each.name in topics]
    ongoing = []
    for topic, indexes in asked:
        moving = [
            (index, topic.partitions[index]) for index in indexes if index in topic.partitions and topic.partitions[index].reassigning
        ]
        if moving:
            ongoing.append(OngoingTopicReassignment(name=topic.name, partitions=[_ongoing(index, each) for index, each in moving]))
    response = ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None, topics=ongoing)
    return Outcome(response)


def _ongoing(index: int, partition: PartitionImage) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding_replicas),
        removing_replicas=list(partition.removing_replicas),
    )
