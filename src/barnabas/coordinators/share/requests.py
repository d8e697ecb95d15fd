"""Operations on share partitions as requests between brokers, and the results in the responses.

A request has one kind of operation and one group, and each share partition at most once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, assert_never

from barnabas.coordinators.share.operations import Delete, Initialize, Operation, Read, ReadSummary, Result, Write
from barnabas.coordinators.share.persister import ShareState, ShareSummary, StateBatch
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import Uuid
from barnabas.wire.messages import (
    delete_share_group_state as delete,
    initialize_share_group_state as initialize,
    read_share_group_state as read,
    read_share_group_state_summary as summary,
    write_share_group_state as write,
)

Results: TypeAlias = Mapping[tuple[Uuid, int], Result]
T = TypeVar("T")


def request_of(operations: Sequence[Operation]) -> Any:
    """``operations`` are not empty, of one kind and of one group."""
    group_id = operations[0].key.group_id
    topics: list[Any]
    match operations[0]:
        case Initialize():
            topics = _by_topic(operations, _initialize, initialize.InitializeStateData)
            return initialize.InitializeShareGroupStateRequest(group_id=group_id, topics=topics)
        case Read():
            topics = _by_topic(operations, _read, read.ReadStateData)
            return read.ReadShareGroupStateRequest(group_id=group_id, topics=topics)
        case Write():
            topics = _by_topic(operations, _write, write.WriteStateData)
            return write.WriteShareGroupStateRequest(group_id=group_id, topics=topics)
        case ReadSummary():
            topics = _by_topic(operations, _summary, summary.ReadStateSummaryData)
            return summary.ReadShareGroupStateSummaryRequest(group_id=group_id, topics=topics)
        case Delete():
            topics = _by_topic(operations, _delete, delete.DeleteStateData)
            return delete.DeleteShareGroupStateRequest(group_id=group_id, topics=topics)
        case unknown:
            assert_never(unknown)


def results_in(response: Any) -> Results:
    """The result for each topic id and partition in the response to any of the requests."""
    return {(topic.topic_id, each.partition): _result(each) for topic in response.results for each in topic.partitions}


def _result(found: Any) -> Result:
    if found.error_code:
        return known_error(found.error_code)
    if isinstance(found, read.PartitionResult):
        batches = tuple(
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in found.state_batches
        )
        return ShareState(found.state_epoch, found.start_offset, batches)
    if isinstance(found, summary.PartitionResult):
        return ShareSummary(found.state_epoch, found.leader_epoch, found.start_offset, found.delivery_complete_count)
    return ErrorCode.NONE


def _batch(found: read.StateBatch) -> StateBatch:
    return StateBatch(found.first_offset, found.last_offset, found.delivery_state, found.delivery_count)


def _by_topic(operations: Sequence[Any], partition_of: Callable[[Any], Any], topic_class: Callable[..., T]) -> list[T]:
    topics: dict[Uuid, list[Any]] = {}
    for each in operations:
        topics.setdefault(each.key.topic_id, []).append(partition_of(each))
    return [topic_class(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()]


def _initialize(asked: Initialize) -> initialize.PartitionData:
    return initialize.PartitionData(partition=asked.key.partition, state_epoch=asked.state_epoch, start_offset=asked.start_offset)


def _read(asked: Read) -> read.PartitionData:
    return read.PartitionData(partition=asked.key.partition, leader_epoch=asked.leader_epoch)


def _write(asked: Write) -> write.PartitionData:
    return write.PartitionData(
        partition=asked.key.partition,
        state_epoch=asked.state_epoch,
        leader_epoch=asked.leader_epoch,
        start_offset=asked.start_offset,
        delivery_complete_count=asked.delivery_complete_count,
        state_batches=[write.StateBatch(**each._asdict()) for each in asked.batches],
    )


def _summary(asked: ReadSummary) -> summary.PartitionData:
    return summary.PartitionData(partition=asked.key.partition, leader_epoch=asked.leader_epoch)


def _delete(asked: Delete) -> delete.PartitionData:
    return delete.PartitionData(partition=asked.key.partition)
