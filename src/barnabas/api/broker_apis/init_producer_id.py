"""InitProducerId (key 22): an identity for a producer.

Behaviour: an idempotent producer gets a fresh id with epoch 0, whatever it had before. A transactional id needs its coordinator,
which arrives with transactions; until then the answer is COORDINATOR_NOT_AVAILABLE. An empty transactional id is refused.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.request_context import RequestContext
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


def handle(broker: Broker, context: RequestContext, request: InitProducerIdRequest) -> Answer[InitProducerIdResponse]:
    if request.transactional_id is not None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if request.transactional_id else ErrorCode.INVALID_REQUEST
        return _refused(error)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _refused(ErrorCode.INVALID_REQUEST)
    return broker.producer_ids.next_producer_id().map(_granted)


def _granted(producer_id: int) -> InitProducerIdResponse:
    if producer_id < 0:
        return _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _refused(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=error, producer_id=-1, producer_epoch=-1)
