"""A Metadata response made of objects, topic by topic, as a reference for the encoded one."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import DESCRIBE_CLUSTER, DESCRIBE_TOPIC
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, ZERO_UUID, Uuid
from barnabas.model.topic_names import INTERNAL_TOPICS, why_illegal
from barnabas.network.caller import Caller
from barnabas.replication.other_brokers import any_alive
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def plain_response(broker: Broker, caller: Caller, request: MetadataRequest, image: MetadataImage) -> MetadataResponse:
    """For requests that create no topic."""
    brokers = [each for each in image.cluster.brokers.values() if not each.fenced and each.endpoint(caller.listener)]
    cluster_operations = NOT_ASKED
    if request.include_cluster_authorized_operations:
        cluster_operations = broker.access.cluster_operations(caller, DESCRIBE_CLUSTER)
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[
            MetadataResponseBroker(node_id=each.broker_id, host=endpoint.host, port=endpoint.port, rack=each.rack)
            for each in brokers or image.cluster.brokers.values()
            if (endpoint := each.endpoint(caller.listener)) is not None
        ],
        cluster_id=broker.cluster_id,
        controller_id=any_alive(image, caller.listener, broker.node_id),
        topics=_topics(broker, caller, request, image),
        cluster_authorized_operations=cluster_operations,
    )


def _topics(broker: Broker, caller: Caller, request: MetadataRequest, image: MetadataImage) -> list[MetadataResponseTopic]:
    def may_describe(name: str) -> bool:
        return broker.access.may(caller, DESCRIBE_TOPIC, name)

    def operations(name: str) -> int:
        if not request.include_topic_authorized_operations:
            return NOT_ASKED
        return broker.access.operations(caller, ResourceType.TOPIC, name)

    def described(topic: TopicImage) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            error_code=0,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=_partitions(topic, caller, image),
            topic_authorized_operations=operations(topic.name),
        )

    if request.topics is None or (not request.topics and caller.version == 0):
        return [described(each) for each in image.topics.by_name.values() if may_describe(each.name)]
    if any(each.topic_id != ZERO_UUID for each in request.topics):
        ids = dict.fromkeys(each.topic_id for each in request.topics if each.topic_id != ZERO_UUID)
        known = [image.topics.by_id[each] for each in ids if each in image.topics.by_id]
        return [_error(None, each, ErrorCode.UNKNOWN_TOPIC_ID) for each in ids if each not in image.topics.by_id] + [
            described(each) if may_describe(each.name) else _error(None, each.topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            for each in known
        ]
    found = []
    for name in dict.fromkeys(each.name or "" for each in request.topics):
        topic = image.topics.by_name.get(name)
        if not may_describe(name):
            found.append(_error(name, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        elif topic is not None:
            found.append(described(topic))
        else:
            missing = _error(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if why_illegal(name):
                missing.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
            missing.is_internal = name in INTERNAL_TOPICS
            missing.topic_authorized_operations = operations(name)
            found.append(missing)
    return found


def _error(name: str | None, topic_id: Uuid, code: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=name, topic_id=topic_id, partitions=[])


def _partitions(topic: TopicImage, caller: Caller, image: MetadataImage) -> list[MetadataResponsePartition]:
    not_on_listener = ErrorCode.LISTENER_NOT_FOUND if caller.version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
    found = []
    for index in range(len(topic.partitions)):
        partition = topic.partitions[index]
        registered = image.cluster.brokers.get(partition.leader)
        leader, error = partition.leader, ErrorCode.NONE
        if registered is None or registered.fenced:
            leader, error = NO_NODE, ErrorCode.LEADER_NOT_AVAILABLE
        elif registered.endpoint(caller.listener) is None:
            leader, error = NO_NODE, not_on_listener

        def offline(replica: int) -> bool:
            broker = image.cluster.brokers.get(replica)
            if broker is None or broker.fenced or broker.endpoint(caller.listener) is None:
                return True
            return bool(partition.directories) and not broker.has_online(partition.directory_of(replica))  # noqa: B023

        found.append(
            MetadataResponsePartition(
                error_code=error,
                partition_index=index,
                leader_id=leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                offline_replicas=[each for each in partition.replicas if offline(each)],
            )
        )
    return found
