"""InitializeShareGroupState (key 83): the group coordinator creates the delivery state of share
partitions.

Behaviour: an existing state is replaced, its batches are discarded. FENCED_STATE_EPOCH for a state
epoch below the known one, UNKNOWN_TOPIC_OR_PARTITION for a topic or partition that does not exist,
INVALID_REQUEST for a negative partition; an empty response to a request without a group or
topics. The response is sent when the records are on all in-sync replicas of the shard.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, checked
from barnabas.api.share_states import Answer, AnsweredTopic, answered, error_of
from barnabas.coordinators.share.operations import Initialize
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)

NEEDS = checked(CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: InitializeShareGroupStateRequest) -> Promise[InitializeShareGroupStateResponse]:
    allowed = broker.access.may(caller, CLUSTER_ACTION)
    failure = "Unable to initialize share group state"
    return answered(broker, request, _operation, allowed=allowed, failure=failure, empty_topics=True).map(_response)


def _operation(key: SharePartitionKey, asked: PartitionData) -> Initialize:
    return Initialize(key, asked.state_epoch, asked.start_offset)


def _response(topics: list[AnsweredTopic]) -> InitializeShareGroupStateResponse:
    results = [InitializeStateResult(topic_id=each.topic_id, partitions=[_result(*found) for found in each.partitions]) for each in topics]
    return InitializeShareGroupStateResponse(results=results)


def _result(partition: int, answer: Answer) -> PartitionResult:
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message)
