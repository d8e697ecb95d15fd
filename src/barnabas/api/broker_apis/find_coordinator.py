"""FindCoordinator (key 10): the broker that looks after a group or a transactional id.

Behaviour: it is the one that leads the id's partition of the internal topic, and its address on the listener the client came through is the
answer. Where there is no such topic yet it is created, and until it exists, or while its partition has no leader, the answer is
COORDINATOR_NOT_AVAILABLE: clients ask again. Any id has a coordinator, an empty one too. Share groups have none here: INVALID_REQUEST.

Version notes: groups only in 0. One id in 1 to 3, several from 4, each with its own outcome. Share groups' state from 6.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.api.broker import Broker
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.network.caller import Caller
from barnabas.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_SEVERAL_VERSION_MIN = 4
_MESSAGES = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "There are coordinators of groups (key type 0) and of transactional ids (1).",
}


class _Location(NamedTuple):
    error: ErrorCode
    node_id: int = NO_NODE
    host: str = ""
    port: int = -1


def handle(broker: Broker, caller: Caller, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if caller.version < _SEVERAL_VERSION_MIN:
        found = _find(broker, caller.listener, request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=found.error, error_message=_MESSAGES[found.error], node_id=found.node_id, host=found.host, port=found.port
        )
    coordinators = []
    for key in request.coordinator_keys:
        found = _find(broker, caller.listener, request.key_type, key)
        # As Kafka has it: the code says enough, unless nobody could have meant the question.
        message = _MESSAGES[found.error] if request.key_type > _SHARE else ""
        coordinators.append(
            Coordinator(key=key, node_id=found.node_id, host=found.host, port=found.port, error_code=found.error, error_message=message)
        )
    return FindCoordinatorResponse(coordinators=coordinators)


def _find(broker: Broker, listener: str, key_type: int, key: str) -> _Location:
    if key_type == _GROUP:
        topic, partition = broker.groups.topic, broker.groups.partition_of(key)
    elif key_type == _TRANSACTION:
        topic, partition = broker.transactions.topic, broker.transactions.partition_of(key)
    else:
        return _Location(ErrorCode.INVALID_REQUEST)
    if partition is None:
        broker.internal_topics.create(topic)
        return _Location(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    image = broker.metadata.image
    led = image.topics.partition(TopicPartition(topic, partition))
    leader = image.cluster.brokers.get(led.leader) if led is not None else None
    endpoint = leader.endpoint(listener) if leader is not None and not leader.fenced else None
    if leader is None or endpoint is None:
        return _Location(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return _Location(ErrorCode.NONE, leader.broker_id, endpoint.host, endpoint.port)
