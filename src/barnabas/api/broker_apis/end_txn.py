"""EndTxn (key 26): commit or abort a transaction.

Behaviour: answers when the end is decided and in the coordinator's log; the markers follow. CONCURRENT_TRANSACTIONS while those of the
last end are still being written.

Version notes: 2 knows PRODUCER_FENCED, before that it is INVALID_PRODUCER_EPOCH; 5 is sent by clients of transaction version 2, whose
epoch rises with every end: the answer carries the identity to go on with (KIP-890).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import told
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import Granted
from barnabas.coordinators.transaction.fresh_producer_id import run_with_producer_id
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.older_clients import before_fencing_had_a_name
from barnabas.coordinators.transaction.transaction_version import version_of_end_txn
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

_KNOWS_PRODUCER_FENCED = 2


def handle(broker: Broker, caller: Caller, request: EndTxnRequest) -> Answer[EndTxnResponse]:
    if not request.transactional_id:
        return EndTxnResponse(throttle_time_ms=0, error_code=ErrorCode.INVALID_REQUEST)

    def end(machine: TransactionMachine, now_ms: int, offered: int | None) -> Outcome[Granted]:
        return machine.end(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            now_ms,
            committed=request.committed,
            transaction_version=version_of_end_txn(caller.version),
            offered=offered,
        )

    granted = run_with_producer_id(broker.transactions, broker.producer_ids.next_producer_id, request.transactional_id, end)
    return granted.map(lambda identity: _answer(identity, caller.version))


def _answer(granted: ProducerIdentity | ErrorCode, api_version: int) -> EndTxnResponse:
    if isinstance(granted, ErrorCode):
        error = told(granted)
        if api_version < _KNOWS_PRODUCER_FENCED:
            error = before_fencing_had_a_name(error)
        return EndTxnResponse(throttle_time_ms=0, error_code=error)
    return EndTxnResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=granted.producer_id, producer_epoch=granted.producer_epoch
    )
