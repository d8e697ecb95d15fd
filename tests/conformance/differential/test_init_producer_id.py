"""InitProducerId of idempotent producers; transactional ones are in
``test_init_producer_id_of_transactions``.
"""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.conformance.differential.pair import Pair


def test_init_producer_id_without_a_transactional_id_gives_an_identity(pair: Pair) -> None:
    anonymous = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    # Kafka has no ids until its controller has sent a block of them, and answers with an error
    # once.
    while pair.kafka.broker.ask(anonymous, 5).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        pass
    pair.same(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
    pair.same(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1))
    pair.same(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000))
    for producer_id, epoch in ((5, 3), (5, -1), (-1, 3), (-2, -2), (0, 0)):
        pair.same(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000, producer_id=producer_id, producer_epoch=epoch))
