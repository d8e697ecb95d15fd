"""InitProducerId (key 22): a producer id and epoch for a producer.

Behaviour: an idempotent producer gets a new id with epoch 0, whatever it had before. A
transactional producer gets the producer id of its transactional id, with an epoch that fences all
earlier producers. If a transaction is open, the coordinator aborts it first and answers
CONCURRENT_TRANSACTIONS until that is done. INVALID_REQUEST for an empty transactional id.

Version notes: from 3 the producer sends its current id and epoch, and can continue after an error
unless another producer has taken over (KIP-360). PRODUCER_FENCED from 4; older clients get
INVALID_PRODUCER_EPOCH instead. 6 (unstable, not offered) can request two-phase commit, which is
refused unless configured.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import IDEMPOTENT_WRITE, TWO_PHASE_COMMIT, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID, checked
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import Granted
from barnabas.coordinators.transaction.fresh_producer_id import run_with_producer_id
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.older_clients import without_producer_fenced
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.network.caller import Caller
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NEEDS = checked(WRITE_TRANSACTIONAL_ID, TWO_PHASE_COMMIT, IDEMPOTENT_WRITE, WRITE_TOPIC)

_PRODUCER_FENCED_VERSION_MIN = 4


def handle(broker: Broker, caller: Caller, request: InitProducerIdRequest) -> Answer[InitProducerIdResponse]:
    transactional_id = request.transactional_id
    denied = _why_denied(broker, caller, request)
    if denied:
        return _refused(denied)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refused(ErrorCode.INVALID_REQUEST)
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


def _why_denied(broker: Broker, caller: Caller, request: InitProducerIdRequest) -> ErrorCode:
    """An idempotent producer asks before it names a topic, so one topic that it may write to, if it
    existed, is enough."""
    access, transactional_id = broker.access, request.transactional_id
    if transactional_id is None:
        # The second check is the one that the audit log shows when both fail.
        allowed = access.may_for_some(caller, WRITE_TOPIC) or access.may(caller, IDEMPOTENT_WRITE)
        return ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    allowed = access.may(caller, WRITE_TRANSACTIONAL_ID, transactional_id)
    if allowed and request.enable2_pc:
        allowed = access.may(caller, TWO_PHASE_COMMIT, transactional_id)
    return ErrorCode.NONE if allowed else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _answer(granted: ProducerIdentity | ErrorCode, api_version: int) -> InitProducerIdResponse:
    if isinstance(granted, ErrorCode):
        error = client_error(granted)
        return _refused(error if api_version >= _PRODUCER_FENCED_VERSION_MIN else without_producer_fenced(error))
    return InitProducerIdResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=granted.producer_id, producer_epoch=granted.producer_epoch
    )


def _fresh(producer_id: int) -> InitProducerIdResponse:
    if producer_id < 0:
        return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=error, producer_id=-1, producer_epoch=-1)
