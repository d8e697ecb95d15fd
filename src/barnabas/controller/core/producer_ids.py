"""Producer ids, given to brokers in blocks. Each id is given once in the lifetime of a cluster."""

from __future__ import annotations

from barnabas.controller.core.outcome import Outcome
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from barnabas.wire.metadata_records import ProducerIdsRecord

BLOCK_SIZE = 1000
_PRODUCER_ID_MAX = 2**63 - 1


def allocate_producer_ids(image: MetadataImage, request: AllocateProducerIdsRequest) -> Outcome:
    broker = image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Outcome(_answer(ErrorCode.STALE_BROKER_EPOCH))
    first = image.producer_ids.next_producer_id
    if first > _PRODUCER_ID_MAX - BLOCK_SIZE:
        return Outcome(_answer(ErrorCode.UNKNOWN_SERVER_ERROR))
    record = ProducerIdsRecord(broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=first + BLOCK_SIZE)
    return Outcome(_answer(ErrorCode.NONE, first, BLOCK_SIZE), [record])


def _answer(error: ErrorCode, first: int = 0, length: int = 0) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(throttle_time_ms=0, error_code=error, producer_id_start=first, producer_id_len=length)
