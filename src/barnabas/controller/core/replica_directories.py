"""A broker with several directories reports the directory of each replica (KIP-858). A replica in a
directory that has failed in the meantime is out of sync, and does not lead."""

from __future__ import annotations

from barnabas.controller.core.membership import without_replica
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partition_change import Wanted
from barnabas.controller.core.partitions import Partitions
from barnabas.metadata.cluster import BrokerImage
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)


def assign_replicas_to_directories(partitions: Partitions, request: AssignReplicasToDirsRequest) -> Outcome:
    broker = partitions.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Outcome(AssignReplicasToDirsResponse(throttle_time_ms=0, error_code=ErrorCode.STALE_BROKER_EPOCH, directories=[]))
    answered = []
    for directory in request.directories:
        topics = []
        for asked in directory.topics:
            topic = partitions.image.topics.by_id.get(asked.topic_id)
            results = [
                ResponsePartitionData(
                    partition_index=each.partition_index,
                    error_code=_assign(partitions, broker, topic, each.partition_index, directory.id),
                )
                for each in asked.partitions
            ]
            topics.append(ResponseTopicData(topic_id=asked.topic_id, partitions=results))
        answered.append(ResponseDirectoryData(id=directory.id, topics=topics))
    response = AssignReplicasToDirsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, directories=answered)
    return Outcome(response, partitions.records)


def _assign(partitions: Partitions, broker: BrokerImage, topic: TopicImage | None, index: int, directory: Uuid) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = partitions.find(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker.broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    partitions.change(topic, index, Wanted(directories={broker.broker_id: directory}))
    if not broker.has_online(directory):
        without_replica(partitions, topic, index, broker.broker_id)
    return ErrorCode.NONE
