"""AddOffsetsToTxn (key 25): a group's offsets are to be committed with a transaction.

Behaviour: the group's partition of ``__consumer_offsets`` joins the transaction, so that its end is written there too. Where that topic
does not exist yet it is created, and the client is asked to try again: librdkafka looks for the group's coordinator, which would create
the topic as well, only after this request has succeeded.

Version notes: 2 knows PRODUCER_FENCED, before that it is INVALID_PRODUCER_EPOCH. Clients of transaction version 2 do not send it: there
TxnOffsetCommit adds the partition (KIP-890).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import told
from barnabas.coordinators.transaction.older_clients import before_fencing_had_a_name
from barnabas.coordinators.transaction.transaction_version import OLDEST
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

_KNOWS_PRODUCER_FENCED = 2


def handle(broker: Broker, caller: Caller, request: AddOffsetsToTxnRequest) -> Answer[AddOffsetsToTxnResponse]:
    if not request.transactional_id:
        return _answer(ErrorCode.INVALID_REQUEST, caller.version)
    partition = broker.groups.partition_of(request.group_id)
    if partition is None:
        broker.internal_topics.create(broker.groups.topic)
        return _answer(ErrorCode.COORDINATOR_NOT_AVAILABLE, caller.version)
    offsets = TopicPartition(broker.groups.topic, partition)
    added = broker.transactions.run(
        request.transactional_id,
        lambda machine, now_ms: machine.add_partitions(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            [offsets],
            now_ms,
            transaction_version=OLDEST,
        ),
    )
    return added.map(lambda error: _answer(told(error), caller.version))


def _answer(error: ErrorCode, api_version: int) -> AddOffsetsToTxnResponse:
    if api_version < _KNOWS_PRODUCER_FENCED:
        error = before_fencing_had_a_name(error)
    return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=error)
