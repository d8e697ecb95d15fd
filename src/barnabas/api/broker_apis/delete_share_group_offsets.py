"""DeleteShareGroupOffsets (key 92): forget the start offsets of a share group in whole topics.

Behaviour:
- the group must exist and have no members, or the whole request is GROUP_ID_NOT_FOUND or
  NON_EMPTY_GROUP;
- UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist, and for a topic in which the group has
  no offsets;
- a topic that the share coordinator refuses has its own error, and may be deleted again.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DELETE_GROUP, READ_TOPIC, checked
from barnabas.api.share_protocol import share_groups_are_served
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.share_group_states import DeletedOffsets
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

NEEDS = checked(DELETE_GROUP, READ_TOPIC)

_NO_OFFSETS = "There is no offset information to delete."
_NO_TOPIC = "This server does not host this topic-partition."


def handle(broker: Broker, caller: Caller, request: DeleteShareGroupOffsetsRequest) -> Answer[DeleteShareGroupOffsetsResponse]:
    if not share_groups_are_served(broker):
        return _refused(ErrorCode.UNSUPPORTED_VERSION, "This cluster does not serve share groups.")
    if not broker.access.may(caller, DELETE_GROUP, request.group_id):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
    if not request.group_id:
        return _refused(ErrorCode.INVALID_GROUP_ID, "The group id is empty.")
    topics = broker.metadata.image.topics.by_name
    names = list(dict.fromkeys(topic.topic_name for topic in request.topics))
    may_read = broker.access.allowed(caller, READ_TOPIC, names)
    ids = {name: topics[name].topic_id for name in names if name in may_read and name in topics}

    def topic(name: str, deleted: DeletedOffsets) -> DeleteShareGroupOffsetsResponseTopic:
        if name not in may_read:
            return _topic(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
        if name not in ids:
            return _topic(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_TOPIC)
        if ids[name] in deleted.without_state:
            return _topic(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_OFFSETS)
        return _topic(name, deleted.codes.get(ids[name], ErrorCode.NONE), topic_id=ids[name])

    def answer(outcome: DeletedOffsets | Refusal | ErrorCode) -> DeleteShareGroupOffsetsResponse:
        if isinstance(outcome, Refusal):
            return _refused(outcome.code, outcome.message)
        if isinstance(outcome, ErrorCode):
            return _refused(client_error(outcome), "The coordinator could not complete the request.")
        responses = [topic(name, outcome) for name in names]
        return DeleteShareGroupOffsetsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, responses=responses)

    return broker.share_group_states.delete_offsets(request.group_id, frozenset(ids.values())).map(answer)


def _topic(name: str, error: ErrorCode, message: str | None = None, *, topic_id: Uuid = ZERO_UUID) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, error_code=error, error_message=message)


def _refused(error: ErrorCode, message: str) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(throttle_time_ms=0, error_code=error, error_message=message, responses=[])
