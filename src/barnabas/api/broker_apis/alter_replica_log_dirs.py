"""AlterReplicaLogDirs (key 34): move replicas of this broker between its log directories.

Behaviour:
- the response says that a move has begun, not that it is done; DescribeLogDirs shows its progress;
- for a replica that is not on this broker yet, the response is REPLICA_NOT_AVAILABLE, and the
  broker will create the replica in that directory;
- LOG_DIR_NOT_FOUND for a directory that this broker does not have; KAFKA_STORAGE_ERROR for a failed
  one, and for any move while another directory has failed, because the copy might be there;
  INVALID_REPLICA_ASSIGNMENT for a cordoned one;
- INVALID_TOPIC_EXCEPTION for a topic whose name is too long for the directory name of a copy;
- a request for the directory that already holds the replica cancels its move.

Version notes: 2 is flexible.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import ALTER_CLUSTER, checked
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

NEEDS = checked(ALTER_CLUSTER)


def handle(broker: Broker, caller: Caller, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    allowed = broker.access.may(caller, ALTER_CLUSTER)
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for asked in request.dirs:
        directory = next((each for each in broker.replicas.directories if each.path == asked.path), None)
        for topic in asked.topics:
            results.setdefault(topic.name, []).extend(
                AlterReplicaLogDirPartitionResult(
                    partition_index=index,
                    error_code=(
                        _move(broker, TopicPartition(topic.name, index), asked.path, directory)
                        if allowed
                        else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                    ),
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
    # Kafka has this code for partitions that exist and have no replica on this broker.
    known = broker.metadata.image.topics.partition(partition) is not None
    return ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
