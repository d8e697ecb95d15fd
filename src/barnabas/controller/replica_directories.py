"""A broker with several directories says where it put its replicas (KIP-858)."""

from __future__ import annotations

from barnabas.controller.outcome import Outcome
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.wire.metadata_records import MetadataRecord, PartitionChangeRecord


def assign_replicas_to_directories(image: MetadataImage, request: AssignReplicasToDirsRequest) -> Outcome:
    broker = image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        error = ErrorCode.BROKER_ID_NOT_REGISTERED if broker is None else ErrorCode.STALE_BROKER_EPOCH
        return Outcome(AssignReplicasToDirsResponse(throttle_time_ms=0, error_code=error, directories=[]))
    records: list[MetadataRecord] = []
    answered = []
    for directory in request.directories:
        topics = []
        for asked in directory.topics:
            topic = image.topics.by_id.get(asked.topic_id)
            partitions = []
            for index in (each.partition_index for each in asked.partitions):
                partition = topic.partitions.get(index) if topic is not None else None
                if partition is None:
                    error = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif request.broker_id not in partition.replicas:
                    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
                else:
                    error = ErrorCode.NONE
                    directories = _moved(partition, request.broker_id, directory.id)
                    if directories != partition.directories:
                        records.append(PartitionChangeRecord(partition_id=index, topic_id=asked.topic_id, directories=list(directories)))
                partitions.append(ResponsePartitionData(partition_index=index, error_code=error))
            topics.append(ResponseTopicData(topic_id=asked.topic_id, partitions=partitions))
        answered.append(ResponseDirectoryData(id=directory.id, topics=topics))
    response = AssignReplicasToDirsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, directories=answered)
    return Outcome(response, records)


def _moved(partition: PartitionImage, broker_id: int, directory_id: Uuid) -> tuple[Uuid, ...]:
    known = partition.directories or (ZERO_UUID,) * len(partition.replicas)
    slot = partition.replicas.index(broker_id)
    return (*known[:slot], directory_id, *known[slot + 1 :])
