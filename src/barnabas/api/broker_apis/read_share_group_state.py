"""ReadShareGroupState (key 84): a new leader of a partition reads its delivery state.

Behaviour: a newer leader epoch is written down before the response is sent, and fences earlier
leaders: FENCED_LEADER_EPOCH. INVALID_REQUEST for a share partition that was not initialized,
UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist; an empty response to a request without a
group, topics or partitions.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, checked
from barnabas.api.share_states import Answer, AnsweredTopic, answered, error_of
from barnabas.coordinators.share.operations import Read
from barnabas.coordinators.share.persister import SharePartitionKey, ShareState
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

NEEDS = checked(CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: ReadShareGroupStateRequest) -> Promise[ReadShareGroupStateResponse]:
    allowed = broker.access.may(caller, CLUSTER_ACTION)
    return answered(broker, request, _operation, allowed=allowed, failure="Unable to read share group state").map(_response)


def _operation(key: SharePartitionKey, asked: PartitionData) -> Read:
    return Read(key, asked.leader_epoch)


def _response(topics: list[AnsweredTopic]) -> ReadShareGroupStateResponse:
    results = [ReadStateResult(topic_id=each.topic_id, partitions=[_result(*found) for found in each.partitions]) for each in topics]
    return ReadShareGroupStateResponse(results=results)


def _result(partition: int, answer: Answer) -> PartitionResult:
    if isinstance(answer, ShareState):
        return PartitionResult(
            partition=partition,
            error_code=ErrorCode.NONE,
            state_epoch=answer.state_epoch,
            start_offset=answer.start_offset,
            state_batches=[StateBatch(**each._asdict()) for each in answer.batches],
        )
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message, state_epoch=0, start_offset=0, state_batches=[])
