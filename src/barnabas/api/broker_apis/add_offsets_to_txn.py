"""AddOffsetsToTxn (key 25): announce that a transaction will commit offsets of a group.

Behaviour: the group's partition of ``__consumer_offsets`` joins the transaction, so that the
coordinator writes the end of the transaction there too. If that topic does not exist yet, the
broker creates it and answers COORDINATOR_NOT_AVAILABLE, which clients retry: librdkafka asks for
the group's coordinator, which would create the topic as well, only after this request has
succeeded.

Version notes: PRODUCER_FENCED from 2; older clients get INVALID_PRODUCER_EPOCH instead. Clients of
transaction version 2 do not send this request, because TxnOffsetCommit adds the partition
(KIP-890).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import READ_GROUP, WRITE_TRANSACTIONAL_ID, checked
from barnabas.coordinators.transaction.older_clients import without_producer_fenced
from barnabas.coordinators.transaction.transaction_version import OLDEST
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

NEEDS = checked(WRITE_TRANSACTIONAL_ID, READ_GROUP)

_PRODUCER_FENCED_VERSION_MIN = 2


def handle(broker: Broker, caller: Caller, request: AddOffsetsToTxnRequest) -> Answer[AddOffsetsToTxnResponse]:
    if not broker.access.may(caller, WRITE_TRANSACTIONAL_ID, request.transactional_id):
        return _answer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, caller.version)
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return _answer(ErrorCode.GROUP_AUTHORIZATION_FAILED, caller.version)
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
    return added.map(lambda error: _answer(client_error(error), caller.version))


def _answer(error: ErrorCode, api_version: int) -> AddOffsetsToTxnResponse:
    if api_version < _PRODUCER_FENCED_VERSION_MIN:
        error = without_producer_fenced(error)
    return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=error)
