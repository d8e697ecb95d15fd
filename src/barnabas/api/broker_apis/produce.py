"""Produce (key 0): append one batch to each of some partitions.

Behaviour:
- acks 0 gets no answer; where a batch fails, the connection is closed, which is all such a producer can notice;
- acks 1 and -1 are answered when the batch is in the log of all who must have it; any other value is refused for every partition;
- every partition has its own outcome; a retried batch of an idempotent producer is answered like the first time.

Version notes: topics by id from 13 (UNKNOWN_TOPIC_ID), by name before. zstd from 7 on. Error messages and record errors from 8.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.records.compression import Codec
from barnabas.records.validation import Refused
from barnabas.storage.log import Appended
from barnabas.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

_ZSTD_VERSION_MIN = 7
_TOPIC_ID_VERSION_MIN = 13
_ACKS = (0, 1, -1)
_ATTRIBUTES_LOW_BYTE = 22

_UNKNOWN = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "this broker has no such partition")
_UNKNOWN_ID = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
_WRONG_ACKS = Refused(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be 0, 1 or -1")
_NO_ZSTD = Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or higher")
_DISK_FAILED = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk failed while appending")


def handle(broker: Broker, context: RequestContext, request: ProduceRequest) -> ProduceResponse | None:
    now_ms = broker.clock.wall_ms()
    acks = request.acks
    replicas = broker.replicas
    by_id = context.api_version >= _TOPIC_ID_VERSION_MIN
    failed = False
    topics = []
    for topic in request.topic_data:
        name = replicas.topic_names.get(topic.topic_id) if by_id else topic.name
        partitions = replicas.by_topic.get(name) if name is not None else None
        answers = []
        for data in topic.partition_data:
            partition = partitions.get(data.index) if partitions is not None else None
            outcome: Appended | Refused
            if partition is None:
                outcome = _UNKNOWN_ID if by_id and name is None else _UNKNOWN
            elif acks not in _ACKS:
                outcome = _WRONG_ACKS
            elif context.api_version < _ZSTD_VERSION_MIN and _codec(data) == Codec.ZSTD:
                outcome = _NO_ZSTD
            else:
                try:
                    outcome = partition.append(data.records, acks=acks, now_ms=now_ms)  # type: ignore[arg-type]
                except OSError as error:
                    replicas.disk_failed(partition.directory, error)
                    outcome = _DISK_FAILED
            if isinstance(outcome, Appended):
                assert partition is not None
                answers.append(
                    PartitionProduceResponse(
                        index=data.index,
                        error_code=0,
                        base_offset=outcome.base_offset,
                        log_append_time_ms=outcome.append_time_ms,
                        log_start_offset=partition.log.log_start_offset,
                    )
                )
            else:
                failed = True
                answers.append(_refused(data.index, outcome))
        topics.append(TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers))
    if acks == 0:
        if failed:
            context.connection.close()
        return None
    return ProduceResponse(responses=topics, throttle_time_ms=0)


def _codec(data: PartitionProduceData) -> int:
    records = data.records
    return records[_ATTRIBUTES_LOW_BYTE] & 0x07 if records is not None and len(records) > _ATTRIBUTES_LOW_BYTE else 0  # type: ignore[index]


def _refused(index: int, refused: Refused) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=refused.code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=error.batch_index, batch_index_error_message=error.message)
            for error in refused.record_errors
        ],
        error_message=refused.message,
    )
