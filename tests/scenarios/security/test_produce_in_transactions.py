"""A transactional batch needs the right to its transactional id, however the request is served."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Operation
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.acl_creation import acl_creation
from tests.scenarios.client import PRODUCE_BY_NAME, Client, batch_of, produce_request
from tests.scenarios.security.logged_in import log_in, with_authorizer
from tests.waiting import until

TRANSACTION_KEY = 1


@pytest.fixture
def secured() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=with_authorizer()) as running:
        yield running


def producer_of(client: Client, transactional_id: str) -> InitProducerIdResponse:
    def found() -> InitProducerIdResponse | None:
        client.ask(FindCoordinatorRequest(key_type=TRANSACTION_KEY, coordinator_keys=[transactional_id]))
        given = client.ask(InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000))
        return given if given.error_code == ErrorCode.NONE else None

    given: InitProducerIdResponse = until(found, "the coordinator gives a producer id")
    return given


def produce(client: Client, batch: bytearray, transactional_id: str | None) -> int:
    request = produce_request("t", 0, batch)
    request.transactional_id = transactional_id
    return int(client.ask(request, PRODUCE_BY_NAME).responses[0].partition_responses[0].error_code)


def transactional(producer: InitProducerIdResponse, sequence: int, value: bytes) -> bytearray:
    return batch_of(
        [value], producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, base_sequence=sequence, transactional=True
    )


def test_a_repeated_request_cannot_write_into_the_transaction_of_another_user(secured: EmbeddedBroker) -> None:
    """The broker remembers alice's plain request, and her next one differs from it in the records
    alone."""
    with log_in(secured, "admin") as admin, log_in(secured, "alice") as alice:
        _try_to_forge(admin, alice)


def _try_to_forge(admin: Client, alice: Client) -> None:
    admin.create_topic("t")
    admin.ask(CreateAclsRequest(creations=[acl_creation(operation=Operation.WRITE)]))
    producer = producer_of(admin, "tx")
    assert produce(admin, transactional(producer, 0, b"of admin"), "tx") == ErrorCode.NONE
    until(lambda: produce(alice, batch_of([b"plain"]), None) == ErrorCode.NONE, "alice may write to the topic")
    for transactional_id in (None, "tx"):
        assert produce(alice, transactional(producer, 1, b"forged"), transactional_id) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert produce(alice, batch_of([b"plain"]), None) == ErrorCode.NONE
    assert produce(alice, transactional(producer, 1, b"forged"), None) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert produce(admin, transactional(producer, 1, b"of admin too"), "tx") == ErrorCode.NONE
    assert b"forged" not in admin.values("t")


def test_a_transactional_batch_without_a_transactional_id_is_refused_without_an_authorizer_too(client: Client) -> None:
    client.create_topic("t")
    producer = producer_of(client, "tx")
    assert produce(client, transactional(producer, 0, b"first"), "tx") == ErrorCode.NONE
    assert produce(client, transactional(producer, 1, b"second"), None) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
