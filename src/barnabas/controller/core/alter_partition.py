"""AlterPartition: the leader of a partition reports its in-sync replicas, and the controller
accepts the set or refuses it.

The partition epoch guards the report: a leader that decided on an older state of the partition must
look again. A replica that enters the set must be active *with the broker epoch that the leader
saw*. The epoch distinguishes the process that had caught up from one that has restarted since and
may have lost its tail (KIP-903).
"""

from __future__ import annotations

from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partition_change import Wanted
from barnabas.controller.core.partitions import Partitions
from barnabas.metadata.cluster import ClusterImage
from barnabas.metadata.topics import RECOVERED, RECOVERING, PartitionImage, TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)

_UNKNOWN_EPOCH = -1


def alter_partition(partitions: Partitions, request: AlterPartitionRequest) -> Outcome:
    if not request.topics:
        # Kafka does not look at the sender of a report about nothing.
        return Outcome(AlterPartitionResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, topics=[]))
    leader = partitions.image.cluster.brokers.get(request.broker_id)
    if leader is None or leader.epoch != request.broker_epoch:
        return Outcome(AlterPartitionResponse(throttle_time_ms=0, error_code=ErrorCode.STALE_BROKER_EPOCH, topics=[]))
    answered = []
    for asked in request.topics:
        topic = partitions.image.topics.by_id.get(asked.topic_id)
        if topic is None:
            results = [_refused(each.partition_index, ErrorCode.UNKNOWN_TOPIC_ID) for each in asked.partitions]
        else:
            results = [_altered(partitions, topic, request.broker_id, each) for each in asked.partitions]
        answered.append(ResponseTopicData(topic_id=asked.topic_id, partitions=results))
    response = AlterPartitionResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, topics=answered)
    return Outcome(response, partitions.records)


def _altered(partitions: Partitions, topic: TopicImage, broker_id: int, asked: PartitionData) -> ResponsePartitionData:
    # Before version 3 a leader did not report the epochs that it had seen.
    new_isr = asked.new_isr_with_epochs or [BrokerState(broker_id=each) for each in asked.new_isr]
    partition = partitions.find(topic, asked.partition_index)
    if partition is None:
        return _refused(asked.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error = _refusal(partitions.image.cluster, partition, broker_id, asked, new_isr)
    if error is not ErrorCode.NONE:
        return _refused(asked.partition_index, error)
    wanted = Wanted(isr=tuple(each.broker_id for each in new_isr), recovery_state=asked.leader_recovery_state)
    now = partitions.change(topic, asked.partition_index, wanted) or partition
    if now.leader != broker_id:
        # The report completed a reassignment, and the broker that reported is no longer a replica.
        return _refused(asked.partition_index, ErrorCode.NEW_LEADER_ELECTED)
    return ResponsePartitionData(
        partition_index=asked.partition_index,
        error_code=ErrorCode.NONE,
        leader_id=now.leader,
        leader_epoch=now.leader_epoch,
        isr=list(now.isr),
        leader_recovery_state=now.leader_recovery_state,
        partition_epoch=now.partition_epoch,
    )


def _refusal(
    cluster: ClusterImage, partition: PartitionImage, broker_id: int, asked: PartitionData, new_isr: list[BrokerState]
) -> ErrorCode:
    # A leader that knows a newer state than this controller has heard it from a newer controller.
    if asked.leader_epoch > partition.leader_epoch or asked.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if asked.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if asked.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    in_sync = [each.broker_id for each in new_isr]
    if len(set(in_sync)) < len(in_sync) or not set(in_sync) <= set(partition.replicas) or partition.leader not in in_sync:
        return ErrorCode.INVALID_REQUEST
    if asked.leader_recovery_state not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if asked.leader_recovery_state == RECOVERING and (len(in_sync) > 1 or partition.leader_recovery_state == RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if not all(_eligible(cluster, each) for each in new_isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _eligible(cluster: ClusterImage, replica: BrokerState) -> bool:
    broker = cluster.brokers.get(replica.broker_id)
    return broker is not None and broker.active and replica.broker_epoch in (_UNKNOWN_EPOCH, broker.epoch)


def _refused(index: int, error: ErrorCode) -> ResponsePartitionData:
    return ResponsePartitionData(partition_index=index, error_code=error, leader_id=0, leader_epoch=0, isr=[], partition_epoch=0)
