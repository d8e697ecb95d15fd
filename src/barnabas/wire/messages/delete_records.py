"""DeleteRecords: move the start of partitions forward."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String


@struct
class DeleteRecordsPartition:
    partition_index: Int32 = field()
    offset: Int64 = field()


@struct
class DeleteRecordsTopic:
    name: String = field()
    partitions: list[DeleteRecordsPartition] = field()


@request(key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    topics: list[DeleteRecordsTopic] = field()
    timeout_ms: Int32 = field()


@struct
class DeleteRecordsPartitionResult:
    partition_index: Int32 = field()
    low_watermark: Int64 = field()
    error_code: Int16 = field()


@struct
class DeleteRecordsTopicResult:
    name: String = field()
    partitions: list[DeleteRecordsPartitionResult] = field()


@response(key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse:
    throttle_time_ms: Int32 = field()
    topics: list[DeleteRecordsTopicResult] = field()
