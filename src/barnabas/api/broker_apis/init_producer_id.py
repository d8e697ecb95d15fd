"""InitProducerId (key 22): an identity for a producer.

Behaviour: an idempotent producer gets a fresh id with epoch 0, whatever it had before. A transactional producer gets its transactional id's
producer id with an epoch that fences everybody who had it before; an open transaction is aborted first, and the answer is
CONCURRENT_TRANSACTIONS until that is done. An empty transactional id is refused.

Version notes: 3 the producer says whom it believes to be, and goes on after an error unless somebody else took over (KIP-360); 4 knows
PRODUCER_FENCED, before that it is INVALID_PRODUCER_EPOCH; 6 (unstable, not offered) asks for two-phase commit,
which is refused unless configured.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import told
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import Granted
from barnabas.coordinators.transaction.fresh_producer_id import run_with_producer_id
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.older_clients import before_fencing_had_a_name
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_KNOWS_PRODUCER_FENCED = 4


def handle(broker: Broker, caller: Caller, request: InitProducerIdRequest) -> Answer[InitProducerIdResponse]:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refused(ErrorCode.INVALID_REQUEST)
    transactional_id = request.transactional_id
    if transactional_id is None:
        return broker.producer_ids.next_producer_id().map(_fresh)
    if not transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    given = None if request.producer_id == -1 else ProducerIdentity(request.producer_id, request.producer_epoch)

    def begin(machine: TransactionMachine, now_ms: int, offered: int | None) -> Outcome[Granted]:
        return machine.init_producer_id(
            transactional_id,
            timeout_ms=request.transaction_timeout_ms,
            given=given,
            offered=offered,
            now_ms=now_ms,
            two_phase_commit=request.enable2_pc,
            keep_prepared=request.keep_prepared_txn,
        )

    granted = run_with_producer_id(broker.transactions, broker.producer_ids.next_producer_id, transactional_id, begin)
    return granted.map(lambda identity: _answer(identity, caller.version))


def _answer(granted: ProducerIdentity | ErrorCode, api_version: int) -> InitProducerIdResponse:
    if isinstance(granted, ErrorCode):
        error = told(granted)
        return _refused(error if api_version >= _KNOWS_PRODUCER_FENCED else before_fencing_had_a_name(error))
    return InitProducerIdResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=granted.producer_id, producer_epoch=granted.producer_epoch
    )


def _fresh(producer_id: int) -> InitProducerIdResponse:
    if producer_id < 0:
        return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=error, producer_id=-1, producer_epoch=-1)
