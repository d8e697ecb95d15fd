"""AssignReplicasToDirs: a broker reports to the controller which directory holds which replica
(KIP-858).
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, Uuid


@struct
class PartitionData:
    partition_index: Int32 = field()


@struct
class TopicData:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@struct
class DirectoryData:
    id: Uuid = field()
    topics: list[TopicData] = field()


@request(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    directories: list[DirectoryData] = field()


@struct
class ResponsePartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()


@struct
class ResponseTopicData:
    topic_id: Uuid = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class ResponseDirectoryData:
    id: Uuid = field()
    topics: list[ResponseTopicData] = field()


@response(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    directories: list[ResponseDirectoryData] = field()
