"""FindCoordinator (key 10): the broker that coordinates a group, a transactional id, or the
delivery state of a share partition.

Behaviour: the coordinator is the leader of the id's partition of the internal topic; the response
has its address on the listener of the client. If the internal topic does not exist, the broker
creates it. Until it exists, and while its partition has no leader, the response is
COORDINATOR_NOT_AVAILABLE, which clients retry. Every id of a group or transaction has a
coordinator, even an empty one. Only brokers may ask for share partitions (key type 2), with keys of
the form ``group:topic id:partition``; INVALID_REQUEST for any other key.

Version notes: version 0 serves groups only. One id in 1 to 3; several from 4, each with its own
result. Share partitions from 6, INVALID_REQUEST before.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID, checked
from barnabas.api.sliced_answers import Steps
from barnabas.coordinators.share.coordinator_keys import parse_coordinator_key
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import CLUSTER_NAME
from barnabas.wire.compiler import part_encoder
from barnabas.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.types import EncodedElements

NEEDS = checked(DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID, CLUSTER_ACTION)

# What a key costs, see `barnabas.api.sliced_answers`.
KEY_US: Final = 5

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_SEVERAL_VERSION_MIN = 4
_SHARE_VERSION_MIN = 6
_NEEDED = {
    _GROUP: (DESCRIBE_GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    _TRANSACTION: (DESCRIBE_TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    _SHARE: (CLUSTER_ACTION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
}
_MESSAGES = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "Groups (key type 0), transactional ids (1) and share partitions (2) have coordinators.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}


class _Location(NamedTuple):
    error: ErrorCode
    node_id: int = NO_NODE
    host: str = ""
    port: int = -1


def handle(broker: Broker, caller: Caller, request: FindCoordinatorRequest) -> Answer[FindCoordinatorResponse]:
    if caller.version < _SEVERAL_VERSION_MIN:
        found = _find(broker, caller, broker.metadata.image, request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=found.error, error_message=_MESSAGES[found.error], node_id=found.node_id, host=found.host, port=found.port
        )
    return broker.sliced_answers.make(broker, caller, _finding(broker, caller, request))


def _finding(broker: Broker, caller: Caller, request: FindCoordinatorRequest) -> Steps[FindCoordinatorResponse]:
    image = broker.metadata.image
    encode = part_encoder(FindCoordinatorResponse, Coordinator, caller.version)
    out, error_codes = bytearray(), []
    for key in request.coordinator_keys:
        found = _find(broker, caller, image, request.key_type, key)
        # As in Kafka, the code needs no message except for a key type that does not exist.
        message = _MESSAGES[found.error] if request.key_type > _SHARE else ""
        encode(
            Coordinator(key=key, node_id=found.node_id, host=found.host, port=found.port, error_code=found.error, error_message=message),
            out,
        )
        if found.error:
            error_codes.append(found.error)
        yield KEY_US
    coordinators = EncodedElements(len(request.coordinator_keys), out, error_codes)
    return FindCoordinatorResponse(coordinators=cast(list[Coordinator], coordinators))


def _find(broker: Broker, caller: Caller, image: MetadataImage, key_type: int, key: str) -> _Location:
    if key_type == _SHARE and caller.version < _SHARE_VERSION_MIN:
        return _Location(ErrorCode.INVALID_REQUEST)
    need, denied = _NEEDED.get(key_type, (None, ErrorCode.NONE))
    if need is not None and not broker.access.may(caller, need, CLUSTER_NAME if key_type == _SHARE else key):
        return _Location(denied)
    if key_type == _GROUP:
        topic, partition = broker.groups.topic, broker.groups.partition_of(key)
    elif key_type == _TRANSACTION:
        topic, partition = broker.transactions.topic, broker.transactions.partition_of(key)
    elif key_type == _SHARE and (share_partition := parse_coordinator_key(key)) is not None:
        topic, partition = broker.share_states.topic, broker.share_states.partition_of(share_partition.coordinator_key)
    else:
        return _Location(ErrorCode.INVALID_REQUEST)
    if partition is None:
        broker.internal_topics.create(topic)
        return _Location(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    led = image.topics.partition(TopicPartition(topic, partition))
    leader = image.cluster.brokers.get(led.leader) if led is not None else None
    endpoint = leader.endpoint(caller.listener) if leader is not None and not leader.fenced else None
    if leader is None or endpoint is None:
        return _Location(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return _Location(ErrorCode.NONE, leader.broker_id, endpoint.host, endpoint.port)
