"""ShareAcknowledge (key 79): accept, release, reject or renew records that a member holds.

Behaviour:
- UNSUPPORTED_VERSION while the feature ``share.version`` is 0; GROUP_AUTHORIZATION_FAILED without
  READ on the group; INVALID_REQUEST for a member id that is empty or longer than a UUID;
- the request belongs to the member's share session and counts as its next one. It cannot open a
  session: epoch 0 is INVALID_SHARE_SESSION_EPOCH. Epoch -1 acknowledges and then ends the session,
  which releases everything that the member still holds;
- each partition is decided for itself, and the response waits until the new state is on the
  replicas of the share coordinator;
- INVALID_REQUEST for batches that are no ranges, not ascending, or have unknown types;
  INVALID_RECORD_STATE for records that the member does not hold. A batch below the start of the
  share partition is ignored: its records are done;
- RENEW is allowed only where the request says ``is_renew_ack``.

Version notes: RENEW, ``is_renew_ack`` and the duration of locks in the response from 2 (KIP-1222).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import HINTED, LeaderHints, topic_name
from barnabas.api.needs import READ_GROUP, READ_TOPIC, checked
from barnabas.api.share_requests import ReadableTopics, Verdicts, acknowledge, refuse_member
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise
from barnabas.network.caller import Caller
from barnabas.sharing.core.sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey, SharedPartition
from barnabas.wire.declare import default_struct
from barnabas.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

NEEDS = checked(READ_GROUP, READ_TOPIC)

_NO_LEADER = default_struct(LeaderIdAndEpoch)


def handle(broker: Broker, caller: Caller, request: ShareAcknowledgeRequest) -> Answer[ShareAcknowledgeResponse]:
    error = refuse_member(broker, caller, request.group_id, request.member_id)
    if not error and request.share_session_epoch == INITIAL_EPOCH:
        error = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    if error:
        return _refused(error)
    assert request.group_id is not None
    assert request.member_id is not None
    key = SessionKey(request.group_id, request.member_id)
    session = broker.shares.sessions.continue_with(key, request.share_session_epoch)
    if isinstance(session, ErrorCode):
        return _refused(session)
    answer: Promise[ShareAcknowledgeResponse] = Promise()

    def respond(verdicts: Verdicts) -> None:
        if request.share_session_epoch == FINAL_EPOCH:
            broker.shares.close_session(key)
        answer.resolve(_respond(broker, caller, key.group_id, verdicts))

    acknowledge(
        broker,
        *key,
        (
            (SharedPartition(topic.topic_id, partition.partition_index), partition.acknowledgement_batches)
            for topic in request.topics
            for partition in topic.partitions
        ),
        ReadableTopics(broker, caller),
        version=caller.version,
        renews=request.is_renew_ack,
        then=respond,
    )
    return answer


def _refused(error: ErrorCode) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(throttle_time_ms=0, error_code=error, responses=[], node_endpoints=[])


def _respond(broker: Broker, caller: Caller, group_id: str, verdicts: Verdicts) -> ShareAcknowledgeResponse:
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    hints: LeaderHints | None = None
    for (topic_id, index), verdict in verdicts.items():
        leader = _NO_LEADER
        if verdict.error in HINTED:
            hints = hints or LeaderHints(broker, caller.listener)
            hint = hints.leader_of(topic_name(broker, topic_id), index)
            if hint is not None:
                leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=[])
        topic.partitions.append(
            PartitionData(partition_index=index, error_code=verdict.error, error_message=verdict.message, current_leader=leader)
        )
    addresses = hints.addresses() if hints is not None else ()
    return ShareAcknowledgeResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        acquisition_lock_timeout_ms=broker.shares.settings_of(group_id).lock_duration_ms,
        responses=list(topics.values()),
        node_endpoints=[NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack) for each in addresses],
    )
