"""Metadata (key 3): the brokers, and the leaders of some topics' partitions or of all.

Behaviour:
- brokers and leaders have their addresses on the listener of the client;
- fenced brokers are left out, unless all are fenced: librdkafka forgets brokers that a response
  leaves out, and after an empty list it would have none to ask again;
- the controller id is that of any live broker, since every broker forwards admin requests;
- a replica is offline if its broker is fenced or unregistered, does not have that listener, or has
  lost the log directory of the replica;
- a topic that does not exist is created if the client and ``auto.create.topics.enable`` allow it.
  The response waits up to ``barnabas.auto.create.topics.wait.ms`` for the controller, so that a
  client only asks again if this broker has not applied the new topic yet. With 0 it does not wait
  and has UNKNOWN_TOPIC_OR_PARTITION for the topic, as Kafka's has;
- a leader whose connection to this broker closed a moment ago may be gone: the response waits until
  the controller has decided (:mod:`~barnabas.replication.doubted_brokers`);
- a topic that the caller may not describe is left out of a list of all topics. By name it gets
  TOPIC_AUTHORIZATION_FAILED, whether it exists or not; by id it gets the same, without its name;
- a topic named twice is described once. If any topic is requested by id, names are ignored.

Version notes: an empty list means all topics in version 0 and none later; null means all.
LISTENER_NOT_FOUND from 6 for a leader that does not have the listener. Topic ids from 10, lookup by
id from 12; a lookup by id in 10 or 11 fails the whole request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from barnabas.api.broker import Broker
from barnabas.api.needs import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, checked
from barnabas.config.broker_keys.own import AUTO_CREATE_WAIT_MS
from barnabas.metadata.cluster import Endpoint
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, ZERO_UUID, Uuid
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.model.topic_names import INTERNAL_TOPICS, why_illegal
from barnabas.network.caller import Caller
from barnabas.replication.other_brokers import any_alive
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NEEDS = checked(DESCRIBE_TOPIC, CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER)

_ID_LOOKUP_VERSION_MIN = 12
_LISTENER_NOT_FOUND_VERSION_MIN = 6
_NOT_ABOUT_THE_TOPIC = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION})


def handle(broker: Broker, caller: Caller, request: MetadataRequest) -> Answer[MetadataResponse]:
    if broker.doubted_brokers and _names_doubted_leader(broker, request):
        return broker.doubted_brokers.settled().followed_by(lambda _: _promised(_answer(broker, caller, request)))
    return _answer(broker, caller, request)


def _names_doubted_leader(broker: Broker, request: MetadataRequest) -> bool:
    """Whether the response would name a leader that may be gone. Without a list of topics it may
    name any."""
    if request.topics is None:
        return True
    topics = broker.metadata.image.topics
    found = (topics.by_name.get(each.name) if each.name is not None else topics.by_id.get(each.topic_id) for each in request.topics)
    return any(each.leader in broker.doubted_brokers for topic in found if topic is not None for each in topic.partitions.values())


def _promised(answer: Answer[MetadataResponse]) -> Promise[MetadataResponse]:
    return answer if isinstance(answer, Promise) else Promise.kept(answer)


def _answer(broker: Broker, caller: Caller, request: MetadataRequest) -> Answer[MetadataResponse]:
    image, access = broker.metadata.image, broker.access
    if request.topics is None or (not request.topics and caller.version == 0):
        return _respond(broker, caller, request, {})
    if any(topic.name is None or topic.topic_id != ZERO_UUID for topic in request.topics):
        nameless = any(topic.name is None and topic.topic_id == ZERO_UUID for topic in request.topics)
        if nameless or caller.version < _ID_LOOKUP_VERSION_MIN:
            return _all_refused(request.topics)
        return _respond(broker, caller, request, {})
    may_describe = access.allowed(caller, DESCRIBE_TOPIC, (topic.name for topic in request.topics if topic.name is not None))
    errors = {
        topic.name: ErrorCode.TOPIC_AUTHORIZATION_FAILED
        for topic in request.topics
        if topic.name is not None and topic.name not in may_describe
    }
    missing = [
        topic.name
        for topic in request.topics
        if topic.name is not None and topic.name not in errors and topic.name not in image.topics.by_name and not why_illegal(topic.name)
    ]
    if not (missing and request.allow_auto_topic_creation and broker.metadata.effective.settings.flag("auto.create.topics.enable")):
        return _respond(broker, caller, request, errors)
    if not access.may(caller, CREATE_CLUSTER, filters=True):
        may_create = access.allowed(caller, CREATE_TOPIC, missing)
        errors |= {name: ErrorCode.TOPIC_AUTHORIZATION_FAILED for name in missing if name not in may_create}
        missing = [name for name in missing if name in may_create]
    return _create(broker, caller, request, missing, errors) if missing else _respond(broker, caller, request, errors)


def _create(
    broker: Broker, caller: Caller, request: MetadataRequest, missing: list[str], refused: Mapping[str, ErrorCode]
) -> Answer[MetadataResponse]:
    """The wait is bounded, because a client retries by itself if no controller is elected yet."""
    wait_ms = broker.metadata.effective.settings.integer(AUTO_CREATE_WAIT_MS)
    if wait_ms == 0:
        at_once = _respond(broker, caller, request, refused)
        broker.internal_topics.create_all(missing)
        return at_once
    answer: Promise[MetadataResponse] = Promise()
    creations = broker.internal_topics.create_all(missing)

    def respond() -> None:
        if not answer.done:
            errors = {name: created.value for name, created in creations.items() if created.done and created.value}
            if caller.meter is not None:
                caller.meter.mutated(_created_partitions(broker, [name for name in missing if name not in errors]))
            answer.resolve(_respond(broker, caller, request, {**refused, **errors}))

    alarm = broker.loop.call_later(wait_ms / 1000, respond)

    def created(_: list[ErrorCode]) -> None:
        alarm.cancel()
        respond()

    all_of(list(creations.values())).then(created)
    return answer


def _created_partitions(broker: Broker, names: Sequence[str]) -> int:
    """Of topics that were missing and are there now."""
    topics = broker.metadata.image.topics.by_name
    return sum(len(topics[name].partitions) for name in names if name in topics)


class _ClusterView(NamedTuple):
    """The cluster as the client sees it."""

    image: MetadataImage
    reachable: Mapping[int, Endpoint | None]
    """Brokers that are not fenced, with their address on the client's listener."""
    operations: Callable[[str], int]
    """The operations that the client may perform on a topic, if it asked for them."""
    not_on_listener: ErrorCode


def _respond(broker: Broker, caller: Caller, request: MetadataRequest, errors: Mapping[str, ErrorCode]) -> MetadataResponse:
    image, access = broker.metadata.image, broker.access
    listener, registered = caller.listener, image.cluster.brokers.values()

    def operations(topic: str) -> int:
        return access.operations(caller, ResourceType.TOPIC, topic) if request.include_topic_authorized_operations else NOT_ASKED

    view = _ClusterView(
        image,
        {each.broker_id: each.endpoint(listener) for each in registered if not each.fenced},
        operations,
        ErrorCode.LISTENER_NOT_FOUND if caller.version >= _LISTENER_NOT_FOUND_VERSION_MIN else ErrorCode.LEADER_NOT_AVAILABLE,
    )
    if request.topics is None or (not request.topics and caller.version == 0):
        may_describe = access.allowed(caller, DESCRIBE_TOPIC, image.topics.by_name, filters=True)
        topics = [_describe(topic, view) for topic in image.topics.by_name.values() if topic.name in may_describe]
    elif any(topic.topic_id != ZERO_UUID for topic in request.topics):
        topics = _look_up_ids(broker, caller, request.topics, view)
    else:
        names = dict.fromkeys(topic.name for topic in request.topics)
        topics = [_look_up(name, view, errors) for name in names if name is not None]
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=_listed(view.reachable, image) or _listed({each.broker_id: each.endpoint(listener) for each in registered}, image),
        cluster_id=broker.cluster_id,
        controller_id=any_alive(image, listener, broker.node_id),
        topics=topics,
        cluster_authorized_operations=(
            access.cluster_operations(caller, DESCRIBE_CLUSTER) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _listed(addresses: Mapping[int, Endpoint | None], image: MetadataImage) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=broker_id, host=endpoint.host, port=endpoint.port, rack=image.cluster.brokers[broker_id].rack)
        for broker_id, endpoint in addresses.items()
        if endpoint is not None
    ]


def _look_up_ids(broker: Broker, caller: Caller, asked: Sequence[MetadataRequestTopic], view: _ClusterView) -> list[MetadataResponseTopic]:
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    by_id = view.image.topics.by_id
    known = [by_id[each] for each in ids if each in by_id]
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, (topic.name for topic in known))
    unknown = [_missing(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID) for topic_id in ids if topic_id not in by_id]
    return unknown + [
        _describe(topic, view) if topic.name in may_describe else _missing(None, topic.topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        for topic in known
    ]


def _look_up(name: str, view: _ClusterView, errors: Mapping[str, ErrorCode]) -> MetadataResponseTopic:
    if errors.get(name) is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        # Nothing here may depend on whether the topic exists.
        return _missing(name, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = view.image.topics.by_name.get(name)
    if topic is not None:
        return _describe(topic, view)
    illegal = ErrorCode.INVALID_TOPIC_EXCEPTION if why_illegal(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = errors.get(name, illegal)
    # These errors are temporary failures to reach the controller, and say nothing about the topic.
    answer = _missing(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if error in _NOT_ABOUT_THE_TOPIC else error)
    answer.is_internal = name in INTERNAL_TOPICS
    answer.topic_authorized_operations = view.operations(name)
    return answer


def _missing(name: str | None, topic_id: Uuid, error: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error, name=name, topic_id=topic_id, partitions=[])


def _all_refused(asked: Sequence[MetadataRequestTopic]) -> MetadataResponse:
    refused = [_missing(topic.name or "", topic.topic_id, ErrorCode.INVALID_REQUEST) for topic in asked]
    return MetadataResponse(
        throttle_time_ms=0, brokers=[], cluster_id=None, controller_id=NO_NODE, topics=refused, error_code=ErrorCode.INVALID_REQUEST
    )


def _describe(topic: TopicImage, view: _ClusterView) -> MetadataResponseTopic:
    reachable = view.reachable
    partitions = []
    for index, partition in sorted(topic.partitions.items()):
        leader = partition.leader
        error = ErrorCode.NONE
        if leader == NO_NODE or leader not in reachable:
            leader, error = NO_NODE, ErrorCode.LEADER_NOT_AVAILABLE
        elif reachable[leader] is None:
            leader, error = NO_NODE, view.not_on_listener
        partitions.append(
            MetadataResponsePartition(
                error_code=error,
                partition_index=index,
                leader_id=leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                offline_replicas=[replica for replica in partition.replicas if _offline(replica, partition, view)],
            )
        )
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=view.operations(topic.name),
    )


def _offline(replica: int, partition: PartitionImage, view: _ClusterView) -> bool:
    if view.reachable.get(replica) is None:
        return True
    return bool(partition.directories) and not view.image.cluster.brokers[replica].has_online(partition.directory_of(replica))
