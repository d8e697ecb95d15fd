"""Produce requests of many connections that arrive together: each is answered as if it had come
alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import PRODUCE_BY_NAME, Client, batch_of, produce_request

CLIENTS = 30
PARTITIONS = 3
ROUNDS = 20
# Long enough that the fields before the value of a single record take eight bytes.
FILLING = b"." * 100


@pytest.fixture
def clients(kafka: EmbeddedBroker, client: Client) -> Iterator[list[Client]]:
    """Connections that have produced before, so that their requests are repeats."""
    client.create_topic("t", PARTITIONS)
    with ExitStack() as stack:
        made = [stack.enter_context(Client(kafka.bootstrap)) for _ in range(CLIENTS)]
        for number, each in enumerate(made):
            each.produce("t", [b"warm"], partition=number % PARTITIONS)
        yield made


def values_by_offset(client: Client, partition: int) -> dict[int, bytes | None]:
    return dict(enumerate(client.values("t", partition)))


def test_each_producer_gets_the_offset_of_its_own_record(clients: list[Client], client: Client) -> None:
    answered: dict[tuple[int, int], bytes] = {}
    for turn in range(ROUNDS):
        sent = []
        for number, each in enumerate(clients):
            value = b"%d of %d" % (turn, number) + FILLING
            request = produce_request("t", number % PARTITIONS, batch_of([value]), acks=-1)
            sent.append((each, number % PARTITIONS, value, request, each.send(request, PRODUCE_BY_NAME)))
        for each, partition, value, request, correlation_id in sent:
            got, response = each.receive(request, PRODUCE_BY_NAME)
            answer = response.responses[0].partition_responses[0]
            assert (got, answer.index, answer.error_code) == (correlation_id, partition, 0)
            assert (partition, answer.base_offset) not in answered
            answered[partition, answer.base_offset] = value
    stored = {(each, offset): value for each in range(PARTITIONS) for offset, value in values_by_offset(client, each).items()}
    assert {place: value for place, value in stored.items() if value != b"warm"} == answered


def test_answers_to_one_connection_come_in_the_order_of_its_requests(clients: list[Client]) -> None:
    first, *others = clients
    sent = []
    for number in range(60):
        request = produce_request("t", number % PARTITIONS, batch_of([b"%d" % number + FILLING]), acks=-1)
        sent.append((request, first.send(request, PRODUCE_BY_NAME)))
        others[number % len(others)].send(request, PRODUCE_BY_NAME)
    for request, correlation_id in sent:
        got, response = first.receive(request, PRODUCE_BY_NAME)
        assert got == correlation_id
        assert response.responses[0].partition_responses[0].error_code == 0


def test_a_bad_batch_among_good_ones_fails_only_its_own_request(clients: list[Client], client: Client) -> None:
    good, bad = clients[:-1], clients[-1]
    for turn in range(ROUNDS):
        batch = batch_of([b"%d" % turn + FILLING])
        broken = bytearray(batch)
        broken[-5] ^= 1
        request = produce_request("t", 0, batch, acks=-1)
        broken_request = produce_request("t", 0, broken, acks=-1)
        for number, each in enumerate(good):
            each.send(request, PRODUCE_BY_NAME)
            if number == len(good) // 2:
                bad.send(broken_request, PRODUCE_BY_NAME)
        for each in good:
            assert each.receive(request, PRODUCE_BY_NAME)[1].responses[0].partition_responses[0].error_code == 0
        refused = bad.receive(broken_request, PRODUCE_BY_NAME)[1].responses[0].partition_responses[0]
        assert (refused.error_code, refused.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    appended = [value for value in client.values("t", 0) if value != b"warm"]
    assert len(appended) == ROUNDS * len(good)


def test_a_producers_sequence_holds_between_batches_of_other_producers(clients: list[Client], client: Client) -> None:
    """Two batches of one producer are in flight, each sent twice: they are appended once, in order,
    between those of the others."""
    first, *others = clients
    for sequence in range(0, 2 * ROUNDS, 2):
        batches = [batch_of([b"%d" % each], producer_id=4711, producer_epoch=0, base_sequence=each) for each in (sequence, sequence + 1)]
        requests = [produce_request("t", 0, batch, acks=-1) for batch in (*batches, *batches)]
        for request in requests:
            first.send(request, PRODUCE_BY_NAME)
        neighbour = produce_request("t", 0, batch_of([b"neighbour" + FILLING]), acks=-1)
        for each in others:
            each.send(neighbour, PRODUCE_BY_NAME)
        answers = [first.receive(request, PRODUCE_BY_NAME)[1].responses[0].partition_responses[0] for request in requests]
        assert [answer.error_code for answer in answers] == [0, 0, 0, 0]
        offsets = [answer.base_offset for answer in answers]
        assert offsets[:2] == offsets[2:]
        assert offsets[0] < offsets[1]
        for each in others:
            assert each.receive(neighbour, PRODUCE_BY_NAME)[1].responses[0].partition_responses[0].error_code == 0
    numbered = [value for value in client.values("t", 0) if value is not None and value.isdigit()]
    assert numbered == [b"%d" % each for each in range(2 * ROUNDS)]
