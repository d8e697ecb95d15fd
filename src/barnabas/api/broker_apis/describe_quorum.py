"""DescribeQuorum (key 55): the voters and observers of the metadata log and how far each has come.

Behaviour: the metadata log's one partition is the only thing that can be asked for; a request that names anything else learns nothing.
Version notes: fetch and catch-up times from 1; the addresses of voters, and error messages, from 2.
"""

from __future__ import annotations

from barnabas.api.broker import Broker, QuorumReplica
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_PARTITION
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)

_TIMES_VERSION_MIN = 1
_ADDRESSES_VERSION_MIN = 2


def handle(broker: Broker, context: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, partition.partition_index) for topic in request.topics for partition in topic.partitions]
    if asked != [METADATA_PARTITION]:
        return _refused(request)
    return DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[_describe(broker, context, partition.partition_index) for partition in topic.partitions],
            )
            for topic in request.topics
        ],
        nodes=_nodes(broker) if context.api_version >= _ADDRESSES_VERSION_MIN else [],
    )


def _refused(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    ResponsePartitionData(
                        partition_index=partition.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        leader_id=0,
                        leader_epoch=0,
                        high_watermark=0,
                        current_voters=[],
                        observers=[],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _describe(broker: Broker, context: RequestContext, index: int) -> ResponsePartitionData:
    status = broker.quorum.status()
    return ResponsePartitionData(
        partition_index=index,
        error_code=ErrorCode.NONE,
        leader_id=status.leader_id,
        leader_epoch=status.leader_epoch,
        high_watermark=status.high_watermark,
        current_voters=[_replica(each, context) for each in status.voters],
        observers=[_replica(each, context) for each in status.observers],
    )


def _replica(replica: QuorumReplica, context: RequestContext) -> ReplicaState:
    if context.api_version < _TIMES_VERSION_MIN:
        return ReplicaState(replica_id=replica.replica_id, log_end_offset=replica.log_end_offset)
    return ReplicaState(
        replica_id=replica.replica_id,
        log_end_offset=replica.log_end_offset,
        last_fetch_timestamp=replica.last_fetch_timestamp,
        last_caught_up_timestamp=replica.last_caught_up_timestamp,
    )


def _nodes(broker: Broker) -> list[Node]:
    return [
        Node(
            node_id=controller_id,
            listeners=[Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port) for endpoint in controller.endpoints],
        )
        for controller_id, controller in sorted(broker.metadata.image.cluster.controllers.items())
    ]
