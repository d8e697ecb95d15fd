"""DeleteRecords (key 21): move the start of partitions forward; -1 means up to the high watermark.

Behaviour: offsets above the high watermark are refused, and topics that are only compacted too, since their records are not
deleted by position.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.replication.reads import check_leader
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)


def handle(broker: Broker, context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(name=topic.name, partitions=[_delete(broker, topic.name, partition) for partition in topic.partitions])
            for topic in request.topics
        ],
    )


def _delete(broker: Broker, topic: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    partition = broker.replicas.get(topic, asked.partition_index)
    error = check_leader(partition, -1)
    low_watermark = -1
    if not error:
        assert partition is not None
        policy = broker.metadata.effective.topic(topic)["cleanup.policy"]
        assert isinstance(policy, tuple)
        if policy and "delete" not in policy:
            error = ErrorCode.POLICY_VIOLATION
        else:
            try:
                low_watermark = partition.delete_records(asked.offset)
            except ValueError:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            except OSError as failure:
                broker.replicas.disk_failed(partition.directory, failure)
                error = ErrorCode.KAFKA_STORAGE_ERROR
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=low_watermark, error_code=error)
