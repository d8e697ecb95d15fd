"""AlterReplicaLogDirs (key 34): move replicas of this broker between its directories.

Behaviour: the answer says that a move has begun, not that it is done; DescribeLogDirs shows how far it is. A replica that is not here yet
is answered with REPLICA_NOT_AVAILABLE, and will be made in that directory when it comes. A directory that this broker does not have is
LOG_DIR_NOT_FOUND, one that failed KAFKA_STORAGE_ERROR (and so is any while another has failed: the copy might lie there), a cordoned one
INVALID_REPLICA_ASSIGNMENT; a topic whose name is too long for the directory of a copy is INVALID_TOPIC_EXCEPTION. To ask for the
directory where a replica lies ends its move.

Version notes: 2 is flexible.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.network.caller import Caller
from barnabas.storage.file_names import future_name_fits
from barnabas.storage.log_directory import LogDirectory
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(broker: Broker, caller: Caller, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for asked in request.dirs:
        directory = next((each for each in broker.replicas.directories if each.path == asked.path), None)
        for topic in asked.topics:
            results.setdefault(topic.name, []).extend(
                AlterReplicaLogDirPartitionResult(
                    partition_index=index, error_code=_move(broker, TopicPartition(topic.name, index), asked.path, directory)
                )
                for index in topic.partitions
            )
    return AlterReplicaLogDirsResponse(
        throttle_time_ms=0,
        results=[AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions) for name, partitions in results.items()],
    )


def _move(broker: Broker, partition: TopicPartition, path: str, directory: LogDirectory | None) -> ErrorCode:
    if not future_name_fits(partition):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if directory is None:
        return ErrorCode.KAFKA_STORAGE_ERROR if path in broker.replicas.unopened else ErrorCode.LOG_DIR_NOT_FOUND
    if not directory.online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if directory.cordoned:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    replica = broker.replicas.get(*partition)
    if replica is not None:
        return broker.directory_moves.move(replica, directory)
    broker.replicas.prefer(partition, directory)
    # Kafka says so of partitions that it knows and does not have.
    known = broker.metadata.image.topics.partition(partition) is not None
    return ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
