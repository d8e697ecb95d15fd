"""ListOffsets (key 2): the offset for a timestamp, or for a special timestamp.

    -1 latest: the high watermark, or the last stable offset for read_committed
    -2 earliest
    -3 the record with the largest timestamp (from version 7)
    -4 earliest on local disk (8)
    -5 latest in remote storage, inclusive (9)
    -6 earliest not yet uploaded (11)

In a log that is not tiered, -4 equals -2, and the last two have no offset (-1).

Behaviour:
- a timestamp later than all visible records gets offset -1 and no error;
- INVALID_REQUEST for a partition that is named twice; UNSUPPORTED_VERSION for an unknown negative
  timestamp, and for one newer than the version of the request;
- a new leader does not know yet which records were committed before it. Until its high watermark
  reaches the start of its epoch, it answers OFFSET_NOT_AVAILABLE instead of the latest offset and
  of any offset above the high watermark. A follower always gets the log end offset;
- a timestamp is looked up in remote storage first. REQUEST_TIMED_OUT if that takes longer than
  ``remote.list.offsets.request.timeout.ms``, or than the timeout of the request.

Version notes: read_committed from 2, leader epochs from 4, OFFSET_NOT_AVAILABLE from 5
(LEADER_NOT_AVAILABLE before), the request's own timeout from 10. The list above has the versions of
special timestamps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import not_here
from barnabas.api.needs import CLUSTER_ACTION, DESCRIBE_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.network.caller import Caller
from barnabas.replication.partition import Partition
from barnabas.replication.reads import READ_COMMITTED, check_leader
from barnabas.storage.finding_by_time import TimestampOffset
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

NEEDS = checked(DESCRIBE_TOPIC, CLUSTER_ACTION)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
_VERSION_MIN = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_EPOCH_VERSION_MIN = 4
_NOT_AVAILABLE_VERSION_MIN = 5
_FOR_REPLICAS = -1  # Takes the place of an isolation level.
_NOWHERE = TimestampOffset(-1, -1, -1)

Found = ListOffsetsPartitionResponse
Answers = Mapping[str, Mapping[int, Answer[Found]]]


def handle(broker: Broker, caller: Caller, request: ListOffsetsRequest) -> Answer[ListOffsetsResponse]:
    times = Counter((topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions)
    # The response names every topic and every partition once, even if the request repeats them.
    asked: dict[str, dict[int, ListOffsetsPartition]] = {}
    for topic in request.topics:
        asked.setdefault(topic.name, {}).update((partition.partition_index, partition) for partition in topic.partitions)
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, (topic.name for topic in request.topics))
    # Only a broker may look past the high watermark.
    for_replica = request.replica_id >= 0 and broker.access.may(caller, CLUSTER_ACTION)
    isolation = _FOR_REPLICAS if for_replica else request.isolation_level

    def answer(topic: str, asked: ListOffsetsPartition) -> Answer[Found]:
        if topic not in may_describe:
            return _error(asked.partition_index, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return _answer(broker, caller, topic, asked, isolation, repeated=times[topic, asked.partition_index] > 1)

    answers = {name: {index: answer(name, partition) for index, partition in partitions.items()} for name, partitions in asked.items()}
    remote = [each for partitions in answers.values() for each in partitions.values() if isinstance(each, Promise) and not each.done]
    if not remote:
        return _respond(answers)
    return _wait(broker, request, answers, remote)


def _wait(broker: Broker, request: ListOffsetsRequest, answers: Answers, remote: list[Promise[Found]]) -> Promise[ListOffsetsResponse]:
    response: Promise[ListOffsetsResponse] = Promise()

    def complete() -> None:
        timer.cancel()
        if not response.done:
            response.resolve(_respond(answers))

    timeout_ms = request.timeout_ms or broker.metadata.effective.broker["remote.list.offsets.request.timeout.ms"]
    assert isinstance(timeout_ms, int)
    timer = broker.loop.call_later(timeout_ms / 1000, complete)
    everything = all_of(remote)
    response.if_abandoned(everything.abandon)
    everything.then(lambda _: complete())
    return response


def _respond(answers: Answers) -> ListOffsetsResponse:
    topics = []
    for name, partitions in answers.items():
        found = []
        for index, answer in partitions.items():
            if not isinstance(answer, Promise):
                found.append(answer)
            else:
                found.append(answer.value if answer.done else _error(index, ErrorCode.REQUEST_TIMED_OUT))
        topics.append(ListOffsetsTopicResponse(name=name, partitions=found))
    return ListOffsetsResponse(throttle_time_ms=0, topics=topics)


def _answer(
    broker: Broker,
    caller: Caller,
    topic: str,
    asked: ListOffsetsPartition,
    isolation: int,
    *,
    repeated: bool,
) -> Answer[Found]:
    partition = broker.replicas.get(topic, asked.partition_index)
    if repeated:
        error = ErrorCode.INVALID_REQUEST
    elif asked.timestamp < EARLIEST_PENDING_UPLOAD or caller.version < _VERSION_MIN.get(asked.timestamp, 0):
        error = ErrorCode.UNSUPPORTED_VERSION
    else:
        error = (
            check_leader(partition, asked.current_leader_epoch) if partition is not None else not_here(broker, topic, asked.partition_index)
        )
    if error:
        return _error(asked.partition_index, error)
    assert partition is not None
    log = partition.log
    try:
        if asked.timestamp >= 0 and broker.remote_log is not None and log.log_start_offset < log.local_start_offset:
            remote = broker.remote_log.offset_for_timestamp(partition, asked.timestamp)
            return remote.map(
                lambda found: (
                    _error(asked.partition_index, found)
                    if isinstance(found, ErrorCode)
                    else _shown(caller, asked.partition_index, _visible(partition, found, isolation))
                )
            )
        found = _find(partition, asked.timestamp, isolation)
    except OSError as failure:
        broker.replicas.disk_failed(partition.directory, failure)
        return _error(asked.partition_index, ErrorCode.KAFKA_STORAGE_ERROR)
    return _shown(caller, asked.partition_index, found)


def _error(index: int, code: ErrorCode) -> Found:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=code)


def _shown(caller: Caller, index: int, found: TimestampOffset | None) -> Found:
    if found is None:
        known = caller.version >= _NOT_AVAILABLE_VERSION_MIN
        return _error(index, ErrorCode.OFFSET_NOT_AVAILABLE if known else ErrorCode.LEADER_NOT_AVAILABLE)
    return ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if caller.version >= _EPOCH_VERSION_MIN else -1,
    )


def _bound(partition: Partition, isolation: int) -> tuple[int, bool]:
    """The end of the visible offsets, and whether this leader does not know yet what was committed
    before it.
    """
    if isolation == _FOR_REPLICAS:
        return partition.log.log_end_offset, False
    leadership = partition.leadership
    catching_up = leadership is not None and leadership.epoch_start_offset > partition.high_watermark
    return partition.last_stable_offset if isolation == READ_COMMITTED else partition.high_watermark, catching_up


def _find(partition: Partition, timestamp: int, isolation: int) -> TimestampOffset | None:
    """None if this leader cannot know yet."""
    log = partition.log
    match timestamp:
        case -1:
            bound, catching_up = _bound(partition, isolation)
            return TimestampOffset(-1, bound, partition.leader_epoch) if not catching_up else None
        case -2:
            return _at(partition, log.log_start_offset)
        case -4:
            return _at(partition, log.local_start_offset)
        case -5:
            return _at(partition, log.remote_end_offset - 1) if log.remote_end_offset > 0 else _NOWHERE
        case -6:
            return _pending_upload(partition)
        case -3:
            return _visible(partition, log.offset_of_max_timestamp(), isolation)
        case _:
            return _visible(partition, log.offset_for_timestamp(timestamp), isolation)


def _visible(partition: Partition, found: TimestampOffset | None, isolation: int) -> TimestampOffset | None:
    bound, catching_up = _bound(partition, isolation)
    if found is not None and found.offset < bound:
        return found
    return None if catching_up else _NOWHERE


def _at(partition: Partition, offset: int) -> TimestampOffset:
    return TimestampOffset(-1, offset, partition.log.leader_epochs.epoch_at(offset))


def _pending_upload(partition: Partition) -> TimestampOffset:
    log = partition.log
    if not log.settings.remote_enabled:
        return _NOWHERE
    if log.remote_end_offset > 0:
        return _at(partition, max(log.remote_end_offset, log.log_start_offset))
    # A part of the log is remote, but this leader has not read the remote segments' metadata yet.
    return _at(partition, log.log_start_offset) if log.local_start_offset == log.log_start_offset else _NOWHERE
