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

A response with many topics is made in slices (:mod:`~barnabas.api.sliced_answers`), from one image
and with one state of the access rules. Its topics are joined from kept bytes
(:mod:`~barnabas.api.described_topics`).

Version notes: an empty list means all topics in version 0 and none later; null means all.
LISTENER_NOT_FOUND from 6 for a leader that does not have the listener. Topic ids from 10, lookup by
id from 12; a lookup by id in 10 or 11 fails the whole request.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from barnabas.api.access import DECISION_US, EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.described_topics import KEPT_TOPICS_PER_STEP, KEPT_TOPICS_US, TopicsOnListener
from barnabas.api.needs import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, checked
from barnabas.api.sliced_answers import Steps, of_one_version
from barnabas.config.broker_keys.own import AUTO_CREATE_WAIT_MS
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, ZERO_UUID, Uuid
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.model.topic_names import INTERNAL_TOPICS, why_illegal
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED, OPERATIONS
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from barnabas.wire.types import EncodedElements

NEEDS = checked(DESCRIBE_TOPIC, CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER)

_ID_LOOKUP_VERSION_MIN = 12
_OPERATIONS_US = DECISION_US * len(OPERATIONS[ResourceType.TOPIC])
_NOT_ABOUT_THE_TOPIC = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION})

# A topic that exists, or the result for one that does not or that the caller may not describe.
_Described: TypeAlias = TopicImage | MetadataResponseTopic


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
    if _names_all(caller, request):
        return _respond(broker, caller, request, {})
    assert request.topics is not None
    if any(topic.name is None or topic.topic_id != ZERO_UUID for topic in request.topics):
        nameless = any(topic.name is None and topic.topic_id == ZERO_UUID for topic in request.topics)
        if nameless or caller.version < _ID_LOOKUP_VERSION_MIN:
            return _all_refused(request.topics)
        return _respond(broker, caller, request, {})
    names = [topic.name for topic in request.topics if topic.name is not None]
    if not broker.access.enabled:
        return _answer_names(broker, caller, request, names, EVERYTHING)
    authorised = broker.sliced_answers.make(
        broker,
        caller,
        of_one_version(lambda: broker.access.version, lambda: broker.access.deciding(caller, DESCRIBE_TOPIC, names)),
    )
    if isinstance(authorised, Promise):
        return authorised.followed_by(lambda allowed: _promised(_answer_names(broker, caller, request, names, allowed)))
    return _answer_names(broker, caller, request, names, authorised)


def _answer_names(
    broker: Broker, caller: Caller, request: MetadataRequest, names: Sequence[str], may_describe: Container[str]
) -> Answer[MetadataResponse]:
    image, access = broker.metadata.image, broker.access
    errors = {name: ErrorCode.TOPIC_AUTHORIZATION_FAILED for name in names if name not in may_describe}
    missing = [name for name in names if name not in errors and name not in image.topics.by_name and not why_illegal(name)]
    if not (missing and request.allow_auto_topic_creation and broker.metadata.effective.settings.flag("auto.create.topics.enable")):
        return _respond(broker, caller, request, errors)
    if not access.may(caller, CREATE_CLUSTER, filters=True):
        may_create = access.allowed(caller, CREATE_TOPIC, missing)
        errors |= {name: ErrorCode.TOPIC_AUTHORIZATION_FAILED for name in missing if name not in may_create}
        missing = [name for name in missing if name in may_create]
    return _create(broker, caller, request, missing, errors) if missing else _respond(broker, caller, request, errors)


def _names_all(caller: Caller, request: MetadataRequest) -> bool:
    return request.topics is None or (not request.topics and caller.version == 0)


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
    responding = False

    def respond() -> None:
        nonlocal responding
        if not responding:
            responding = True
            errors = {name: created.value for name, created in creations.items() if created.done and created.value}
            if caller.meter is not None:
                caller.meter.mutated(_created_partitions(broker, [name for name in missing if name not in errors]))
            _promised(_respond(broker, caller, request, {**refused, **errors})).then(answer.resolve)

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


class _View(NamedTuple):
    """The cluster as the client sees it."""

    image: MetadataImage
    described: TopicsOnListener
    operations: Callable[[str], int]
    """The operations that the client may perform on a topic, if it asked for them."""
    same_operations: bytes | None
    """The encoded operations, if they are those of every topic."""


def _respond(broker: Broker, caller: Caller, request: MetadataRequest, errors: Mapping[str, ErrorCode]) -> Answer[MetadataResponse]:
    def begin() -> Steps[MetadataResponse]:
        return _responding(broker, caller, request, errors)

    access = broker.access
    return broker.sliced_answers.make(broker, caller, of_one_version(lambda: access.version, begin) if access.enabled else begin())


def _responding(broker: Broker, caller: Caller, request: MetadataRequest, errors: Mapping[str, ErrorCode]) -> Steps[MetadataResponse]:
    image, access = broker.metadata.image, broker.access
    described = broker.described_topics.on(caller.listener, caller.version, image, broker.node_id)
    asked = request.include_topic_authorized_operations

    def operations(topic: str) -> int:
        return access.operations(caller, ResourceType.TOPIC, topic) if asked else NOT_ASKED

    same_operations = described.operations(operations("")) if not (asked and access.enabled) else None
    view = _View(image, described, operations, same_operations)
    if _names_all(caller, request):
        topics = yield from _all_topics(broker, caller, view)
    elif any(topic.topic_id != ZERO_UUID for topic in request.topics or ()):
        found = yield from _look_up_ids(broker, caller, request.topics or (), view)
        topics = yield from _encoding(found, view)
    else:
        names = dict.fromkeys(topic.name for topic in request.topics or ())
        topics = yield from _encoding((_look_up(name, view, errors) for name in names if name is not None), view)
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=described.brokers,
        cluster_id=broker.cluster_id,
        controller_id=described.controller_id,
        topics=cast(list[MetadataResponseTopic], topics),
        cluster_authorized_operations=(
            access.cluster_operations(caller, DESCRIBE_CLUSTER) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _all_topics(broker: Broker, caller: Caller, view: _View) -> Steps[EncodedElements]:
    topics, access = view.image.topics, broker.access
    if access.enabled:
        allowed = []
        for topic in topics.by_name.values():
            if access.may(caller, DESCRIBE_TOPIC, topic.name, filters=True):
                allowed.append(topic)
            yield DECISION_US
        return (yield from _encoding(allowed, view))
    assert view.same_operations is not None, "without access rules every caller may do everything"
    whole = view.described.whole(topics, view.same_operations)
    if whole is None:
        whole = yield from _encoding(topics.by_name.values(), view)
        view.described.keep_whole(topics, view.same_operations, whole)
    return whole


def _encoding(topics: Iterable[_Described], view: _View) -> Steps[EncodedElements]:
    described, same_operations = view.described, view.same_operations
    pieces: list[bytes] = []
    error_codes: list[int] = []
    count = 0
    for topic in topics:
        count += 1
        if count % KEPT_TOPICS_PER_STEP == 0:
            yield KEPT_TOPICS_US
        if isinstance(topic, MetadataResponseTopic):
            error_codes.append(topic.error_code)
            pieces.append(described.encode_missing(topic))
            continue
        encoded = described.kept(topic)
        if encoded is None:
            encoded = yield from described.encoding(topic, view.image)
        error_codes += encoded.error_codes
        pieces.append(encoded.data)
        if same_operations is not None:
            pieces.append(same_operations)
        else:
            pieces.append(described.operations(view.operations(topic.name)))
            yield _OPERATIONS_US
    return EncodedElements(count, b"".join(pieces), error_codes)


def _look_up_ids(broker: Broker, caller: Caller, asked: Sequence[MetadataRequestTopic], view: _View) -> Steps[list[_Described]]:
    ids = dict.fromkeys(topic.topic_id for topic in asked if topic.topic_id != ZERO_UUID)
    by_id = view.image.topics.by_id
    known = [by_id[each] for each in ids if each in by_id]
    may_describe = yield from broker.access.deciding(caller, DESCRIBE_TOPIC, (topic.name for topic in known))
    found: list[_Described] = [_missing(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID) for topic_id in ids if topic_id not in by_id]
    found.extend(
        topic if topic.name in may_describe else _missing(None, topic.topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in known
    )
    return found


def _look_up(name: str, view: _View, errors: Mapping[str, ErrorCode]) -> _Described:
    if errors.get(name) is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        # Nothing here may depend on whether the topic exists.
        return _missing(name, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = view.image.topics.by_name.get(name)
    if topic is not None:
        return topic
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
