"""AlterReplicaLogDirs: move replicas between the log directories of one broker."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String


@struct
class AlterReplicaLogDirTopic:
    name: String = field()
    partitions: list[Int32] = field()


@struct
class AlterReplicaLogDir:
    path: String = field()
    topics: list[AlterReplicaLogDirTopic] = field()


@request(key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    dirs: list[AlterReplicaLogDir] = field()


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: Int32 = field()
    error_code: Int16 = field()


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: String = field()
    partitions: list[AlterReplicaLogDirPartitionResult] = field()


@response(key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsResponse:
    throttle_time_ms: Int32 = field()
    results: list[AlterReplicaLogDirTopicResult] = field()
