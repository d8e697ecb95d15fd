"""DeleteRecords (key 21): move the log start offset forward; -1 means to the high watermark.

Behaviour: OFFSET_OUT_OF_RANGE for an offset above the high watermark. POLICY_VIOLATION for a topic
that is only compacted, because compaction does not delete by position. The response waits until no
live replica has the records, or for ``timeout_ms``, after which it carries REQUEST_TIMED_OUT.

Version notes: the fields are the same in all versions; 2 is flexible.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import not_here
from barnabas.api.needs import DELETE_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.network.caller import Caller
from barnabas.replication.partition import Partition
from barnabas.replication.reads import check_leader
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

NEEDS = checked(DELETE_TOPIC)


class _Waiting(NamedTuple):
    result: DeleteRecordsPartitionResult
    partition: Partition
    deleted: Promise[ErrorCode]


def handle(broker: Broker, caller: Caller, request: DeleteRecordsRequest) -> Answer[DeleteRecordsResponse]:
    waiting: list[_Waiting] = []
    may_delete = broker.access.allowed(caller, DELETE_TOPIC, (topic.name for topic in request.topics))

    def delete(topic: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
        if topic not in may_delete:
            denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1, error_code=denied)
        return _delete(broker, topic, asked, waiting)

    response = DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(name=topic.name, partitions=[delete(topic.name, partition) for partition in topic.partitions])
            for topic in request.topics
        ],
    )
    return _settle(broker, request, response, waiting) if waiting else response


def _delete(broker: Broker, topic: str, asked: DeleteRecordsPartition, waiting: list[_Waiting]) -> DeleteRecordsPartitionResult:
    partition = broker.replicas.get(topic, asked.partition_index)
    result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1, error_code=ErrorCode.NONE)
    if partition is None:
        result.error_code = not_here(broker, topic, asked.partition_index)
        return result
    result.error_code = check_leader(partition, -1) or _check_policy(broker, topic)
    if result.error_code:
        return result
    try:
        start = partition.delete_records(asked.offset)
    except ValueError:
        result.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
    except OSError as failure:
        broker.replicas.disk_failed(partition.directory, failure)
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        result.low_watermark = partition.low_watermark
        if result.low_watermark < start:
            waiting.append(_Waiting(result, partition, partition.deleted(start)))
    return result


def _check_policy(broker: Broker, topic: str) -> ErrorCode:
    policy = broker.metadata.effective.topic(topic)["cleanup.policy"]
    assert isinstance(policy, tuple)
    return ErrorCode.POLICY_VIOLATION if policy and "delete" not in policy else ErrorCode.NONE


def _settle(
    broker: Broker, request: DeleteRecordsRequest, response: DeleteRecordsResponse, waiting: list[_Waiting]
) -> Promise[DeleteRecordsResponse]:
    settled: Promise[DeleteRecordsResponse] = Promise()
    everywhere = all_of([each.deleted for each in waiting])

    def finish() -> None:
        if settled.done:
            return
        timer.cancel()
        for each in waiting:
            each.result.error_code = each.deleted.value if each.deleted.done else ErrorCode.REQUEST_TIMED_OUT
            each.result.low_watermark = each.partition.low_watermark if each.partition.leads else -1
        settled.resolve(response)

    timer = broker.loop.call_later(max(0, request.timeout_ms) / 1000, finish)
    everywhere.then(lambda _: finish())
    return settled
