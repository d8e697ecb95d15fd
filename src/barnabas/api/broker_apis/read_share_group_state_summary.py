"""ReadShareGroupStateSummary (key 87): the group coordinator reads the start offsets of share
partitions.

Behaviour: a share partition without a state has the start offset -1. The leader epoch of the
request fences nothing. UNKNOWN_TOPIC_OR_PARTITION for a topic or partition that does not exist,
INVALID_REQUEST for a negative partition; an empty response to a request without a group, topics or
partitions.

Version notes: version 1 adds the number of completely delivered records above the start offset.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, checked
from barnabas.api.share_states import Answer, AnsweredTopic, answered, error_of
from barnabas.coordinators.share.operations import ReadSummary
from barnabas.coordinators.share.persister import SharePartitionKey, ShareSummary
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

NEEDS = checked(CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: ReadShareGroupStateSummaryRequest) -> Promise[ReadShareGroupStateSummaryResponse]:
    allowed = broker.access.may(caller, CLUSTER_ACTION)
    return answered(broker, request, _operation, allowed=allowed, failure="Unable to read share group state summary").map(_response)


def _operation(key: SharePartitionKey, asked: PartitionData) -> ReadSummary:
    return ReadSummary(key, asked.leader_epoch)


def _response(topics: list[AnsweredTopic]) -> ReadShareGroupStateSummaryResponse:
    results = [ReadStateSummaryResult(topic_id=each.topic_id, partitions=[_result(*found) for found in each.partitions]) for each in topics]
    return ReadShareGroupStateSummaryResponse(results=results)


def _result(partition: int, answer: Answer) -> PartitionResult:
    if isinstance(answer, ShareSummary):
        return PartitionResult(
            partition=partition,
            error_code=ErrorCode.NONE,
            state_epoch=answer.state_epoch,
            leader_epoch=answer.leader_epoch,
            start_offset=answer.start_offset,
            delivery_complete_count=answer.delivery_complete_count,
        )
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message, state_epoch=0, leader_epoch=0, start_offset=0)
