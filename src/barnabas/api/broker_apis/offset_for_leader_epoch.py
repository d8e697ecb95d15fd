"""OffsetForLeaderEpoch (key 23): the end offset of a leader epoch, with which a reader detects a
truncated log.

Behaviour: the response has the largest epoch that is not above the requested one, and its end
offset; (-1, -1) if none is known.

Version notes: from 3 the request carries a replica id, which this broker ignores. 4 is flexible.
"""

from __future__ import annotations

from barnabas.api.access import EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.leader_hints import not_here
from barnabas.api.needs import CLUSTER_ACTION, DESCRIBE_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.replication.reads import check_leader
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

NEEDS = checked(CLUSTER_ACTION, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    may_describe = EVERYTHING
    if not broker.access.may(caller, CLUSTER_ACTION, filters=True):
        may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, (topic.topic for topic in request.topics))

    def answer(topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        if topic not in may_describe:
            return EpochEndOffset(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, partition=asked.partition)
        return _answer(broker, topic, asked)

    return OffsetForLeaderEpochResponse(
        throttle_time_ms=0,
        topics=[
            OffsetForLeaderTopicResult(topic=topic.topic, partitions=[answer(topic.topic, partition) for partition in topic.partitions])
            for topic in request.topics
        ],
    )


def _answer(broker: Broker, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    partition = broker.replicas.get(topic, asked.partition)
    error = check_leader(partition, asked.current_leader_epoch) if partition is not None else not_here(broker, topic, asked.partition)
    if error:
        return EpochEndOffset(error_code=error, partition=asked.partition)
    assert partition is not None
    end = partition.log.leader_epochs.end_offset_for(asked.leader_epoch, partition.log.log_end_offset)
    return EpochEndOffset(error_code=ErrorCode.NONE, partition=asked.partition, leader_epoch=end.epoch, end_offset=end.start_offset)
