"""ListOffsets (key 2): the offset at a time, or at a special timestamp.

    -1 latest: the high watermark, or the last stable offset for read_committed        -2 earliest
    -3 the record with the largest timestamp (from version 7)                          -4 earliest on local disk (8)
    -5 latest in remote storage (9): none here                                         -6 earliest not yet uploaded (11): none here

Behaviour: a time for which there is no record below the bound is answered with offset -1 and no error. A partition named twice is refused;
a negative time that means nothing, or nothing yet in the request's version, is UNSUPPORTED_VERSION. A new leader does not know yet what was
committed before it: until its high watermark has reached the start of its epoch, it tells clients no latest offset and none above the high
watermark (OFFSET_NOT_AVAILABLE, before version 5 LEADER_NOT_AVAILABLE). A replica is told the end of the log.
"""

from __future__ import annotations

from collections import Counter

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import not_here
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.replication.partition import Partition
from barnabas.replication.reads import READ_COMMITTED, check_leader
from barnabas.storage.log import TimestampOffset
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
_VERSION_MIN = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_EPOCH_VERSION_MIN = 4
_NOT_AVAILABLE_VERSION_MIN = 5
_FOR_REPLICAS = -1  # in place of an isolation level
_NOWHERE = TimestampOffset(-1, -1, -1)


def handle(broker: Broker, context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    times = Counter((topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions)
    # Every topic and every partition is answered once, however often it was named.
    asked: dict[str, dict[int, ListOffsetsPartition]] = {}
    for topic in request.topics:
        asked.setdefault(topic.name, {}).update((partition.partition_index, partition) for partition in topic.partitions)
    return ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            ListOffsetsTopicResponse(
                name=name,
                partitions=[
                    _answer(
                        broker,
                        context,
                        name,
                        partition,
                        _FOR_REPLICAS if request.replica_id >= 0 else request.isolation_level,
                        repeated=times[name, index] > 1,
                    )
                    for index, partition in partitions.items()
                ],
            )
            for name, partitions in asked.items()
        ],
    )


def _answer(
    broker: Broker,
    context: RequestContext,
    topic: str,
    asked: ListOffsetsPartition,
    isolation: int,
    *,
    repeated: bool,
) -> ListOffsetsPartitionResponse:
    partition = broker.replicas.get(topic, asked.partition_index)
    if repeated:
        error = ErrorCode.INVALID_REQUEST
    elif asked.timestamp < EARLIEST_PENDING_UPLOAD or context.api_version < _VERSION_MIN.get(asked.timestamp, 0):
        error = ErrorCode.UNSUPPORTED_VERSION
    else:
        error = (
            check_leader(partition, asked.current_leader_epoch) if partition is not None else not_here(broker, topic, asked.partition_index)
        )
    if error:
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error)
    assert partition is not None
    try:
        found = _find(partition, asked.timestamp, isolation)
    except OSError as failure:
        broker.replicas.disk_failed(partition.directory, failure)
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    if found is None:
        known = context.api_version >= _NOT_AVAILABLE_VERSION_MIN
        error = ErrorCode.OFFSET_NOT_AVAILABLE if known else ErrorCode.LEADER_NOT_AVAILABLE
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        error_code=ErrorCode.NONE,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if context.api_version >= _EPOCH_VERSION_MIN else -1,
    )


def _find(partition: Partition, timestamp: int, isolation: int) -> TimestampOffset | None:
    """None: this leader cannot know yet."""
    log = partition.log
    if isolation == _FOR_REPLICAS:
        bound, catching_up = log.log_end_offset, False
    else:
        bound = partition.last_stable_offset if isolation == READ_COMMITTED else partition.high_watermark
        leadership = partition.leadership
        catching_up = leadership is not None and leadership.epoch_start_offset > partition.high_watermark
    match timestamp:
        case -1:
            return TimestampOffset(-1, bound, partition.leader_epoch) if not catching_up else None
        case -2 | -4:
            return TimestampOffset(-1, log.log_start_offset, log.leader_epochs.epoch_at(log.log_start_offset))
        case -5 | -6:
            return _NOWHERE
        case -3:
            found = log.offset_of_max_timestamp()
        case _:
            found = log.offset_for_timestamp(timestamp)
    if found is not None and found.offset < bound:
        return found
    return None if catching_up else _NOWHERE
