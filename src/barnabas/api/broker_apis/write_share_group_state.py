"""WriteShareGroupState (key 85): the leader of a partition writes changes of its delivery state.

Behaviour: batches are merged into the state; a start offset of -1 leaves it as it is.
FENCED_LEADER_EPOCH and FENCED_STATE_EPOCH for epochs below the known ones, INVALID_REQUEST for a
share partition that was not initialized, a batch that ends before it begins, or too many batches,
UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist; an empty response to a request without a
group, topics or partitions. The response is sent when the records are on all in-sync replicas of
the shard.

Version notes: version 1 adds the number of completely delivered records above the start offset.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import CLUSTER_ACTION, checked
from barnabas.api.share_states import Answer, AnsweredTopic, answered, error_of
from barnabas.coordinators.share import persister
from barnabas.coordinators.share.operations import Write
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    StateBatch,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

NEEDS = checked(CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: WriteShareGroupStateRequest) -> Promise[WriteShareGroupStateResponse]:
    allowed = broker.access.may(caller, CLUSTER_ACTION)
    return answered(broker, request, _operation, allowed=allowed, failure="Unable to write share group state").map(_response)


def _operation(key: SharePartitionKey, asked: PartitionData) -> Write:
    return Write(
        key,
        asked.state_epoch,
        asked.leader_epoch,
        asked.start_offset,
        asked.delivery_complete_count,
        [_batch(each) for each in asked.state_batches],
    )


def _batch(asked: StateBatch) -> persister.StateBatch:
    return persister.StateBatch(asked.first_offset, asked.last_offset, asked.delivery_state, asked.delivery_count)


def _response(topics: list[AnsweredTopic]) -> WriteShareGroupStateResponse:
    results = [WriteStateResult(topic_id=each.topic_id, partitions=[_result(*found) for found in each.partitions]) for each in topics]
    return WriteShareGroupStateResponse(results=results)


def _result(partition: int, answer: Answer) -> PartitionResult:
    code, message = error_of(answer)
    return PartitionResult(partition=partition, error_code=code, error_message=message)
