"""DeleteShareGroupState (key 86): the group coordinator deletes the delivery state of share
partitions.

Behaviour: deleting a state that does not exist succeeds. UNKNOWN_TOPIC_OR_PARTITION for a topic or
partition that does not exist, INVALID_REQUEST for a negative partition; an empty response to a
request without a group, topics or partitions. The response is sent when the records are on all
in-sync replicas of the shard.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, checked
from barnabas.api.share_states import Answer, AnsweredTopic, answered, error_of
from barnabas.coordinators.share.operations import Delete
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)

NEEDS = checked(CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: DeleteShareGroupStateRequest) -> Promise[DeleteShareGroupStateResponse]:
    allowed = broker.access.may(caller, CLUSTER_ACTION)
    return answered(broker, request, _operation, allowed=allowed, failure="Unable to delete share group state").map(_response)


def _operation(key: SharePartitionKey, asked: PartitionData) -> Delete:
    return Delete(key)


def _response(topics: list[AnsweredTopic]) -> DeleteShareGroupStateResponse:
    results = [DeleteStateResult(topic_id=each.topic_id, partitions=[_result(*found) for found in each.partitions]) for each in topics]
    return DeleteShareGroupStateResponse(results=results)


def _result(partition: int, answer: Answer) -> PartitionResult:
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message)
