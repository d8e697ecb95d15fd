"""EndTxn (key 26): commit or abort a transaction.

Behaviour: the response is sent when the decision is in the coordinator's log; the markers follow.
CONCURRENT_TRANSACTIONS while the markers of the previous transaction are still being written.

Version notes: PRODUCER_FENCED from 2; older clients get INVALID_PRODUCER_EPOCH instead. Clients of
transaction version 2 send 5: each transaction raises the producer epoch, and the response carries
the producer id and epoch for the next transaction (KIP-890).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import WRITE_TRANSACTIONAL_ID, checked
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import Granted
from barnabas.coordinators.transaction.fresh_producer_id import run_with_producer_id
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.older_clients import without_producer_fenced
from barnabas.coordinators.transaction.transaction_version import version_of_end_txn
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

NEEDS = checked(WRITE_TRANSACTIONAL_ID)

_PRODUCER_FENCED_VERSION_MIN = 2


def handle(broker: Broker, caller: Caller, request: EndTxnRequest) -> Answer[EndTxnResponse]:
    if not broker.access.may(caller, WRITE_TRANSACTIONAL_ID, request.transactional_id):
        return EndTxnResponse(throttle_time_ms=0, error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
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
        error = client_error(granted)
        if api_version < _PRODUCER_FENCED_VERSION_MIN:
            error = without_producer_fenced(error)
        return EndTxnResponse(throttle_time_ms=0, error_code=error)
    return EndTxnResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=granted.producer_id, producer_epoch=granted.producer_epoch
    )
