"""AlterShareGroupOffsets (key 91): move the start offsets of a share group.

Behaviour:
- the group must have no members, or the whole request is NON_EMPTY_GROUP. A group that does not
  exist is created; a group of another kind is GROUP_ID_NOT_FOUND;
- the state of each partition starts again at its offset: records above it are delivered again, also
  those that were in delivery or completely delivered;
- UNKNOWN_TOPIC_OR_PARTITION for a partition that does not exist. Other partitions are still moved;
- a partition that the share coordinator refuses has its own error.

Version notes: one version.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, READ_TOPIC, checked
from barnabas.api.share_protocol import share_groups_are_served
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.share_group_states import Codes
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

NEEDS = checked(READ_GROUP, READ_TOPIC)

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_MESSAGES: Mapping[ErrorCode, str] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    _UNKNOWN: "This server does not host this topic-partition.",
}


def handle(broker: Broker, caller: Caller, request: AlterShareGroupOffsetsRequest) -> Answer[AlterShareGroupOffsetsResponse]:
    if not share_groups_are_served(broker):
        return _refused(ErrorCode.UNSUPPORTED_VERSION, "This cluster does not serve share groups.")
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
    if not request.group_id:
        return _refused(ErrorCode.INVALID_GROUP_ID, "The group id is empty.")
    topics = broker.metadata.image.topics.by_name
    may_read = broker.access.allowed(caller, READ_TOPIC, (topic.topic_name for topic in request.topics))
    all_topics = request.topics
    request.topics = [topic for topic in all_topics if topic.topic_name in may_read and topic.topic_name in topics]

    def answer(outcome: Codes | Refusal | ErrorCode) -> AlterShareGroupOffsetsResponse:
        if isinstance(outcome, Refusal):
            return _refused(outcome.code, outcome.message)
        if isinstance(outcome, ErrorCode):
            return _refused(client_error(outcome), "The coordinator could not complete the request.")
        responses = [_topic(topic, topics.get(topic.topic_name), outcome, denied=topic.topic_name not in may_read) for topic in all_topics]
        return AlterShareGroupOffsetsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, responses=responses)

    return broker.share_group_states.alter(request).map(answer)


def _topic(
    asked: AlterShareGroupOffsetsRequestTopic, topic: TopicImage | None, codes: Codes, *, denied: bool
) -> AlterShareGroupOffsetsResponseTopic:
    def code_of(number: int) -> ErrorCode:
        if denied:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        # The share coordinator got no request for a partition that does not exist.
        return _UNKNOWN if topic is None else codes.get((topic.topic_id, number), _UNKNOWN)

    codes_by_number = {each.partition_index: code_of(each.partition_index) for each in asked.partitions}
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        topic_id=topic.topic_id if topic is not None else ZERO_UUID,
        partitions=[
            AlterShareGroupOffsetsResponsePartition(partition_index=number, error_code=code, error_message=_MESSAGES.get(code))
            for number, code in codes_by_number.items()
        ],
    )


def _refused(error: ErrorCode, message: str) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(throttle_time_ms=0, error_code=error, error_message=message, responses=[])
