"""Requests of one connection are served as they arrive and answered in their order, even while some
of them wait.
"""

from __future__ import annotations

import random

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.network.connection import REPLIES_WAITING_MAX
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.scenarios.client import FETCH_BY_NAME, PRODUCE_BY_NAME, Client, batch_of, fetch_request, frame_of, produce_request, records_in

VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")
ALL_TOPICS = MetadataRequest(topics=None, allow_auto_topic_creation=False)
FOR_EVER_MS = 600_000


def test_answers_come_in_the_order_of_the_requests(client: Client) -> None:
    client.create_topic("t")
    order = []
    for number in range(60):
        request, version = [
            (VERSIONS, 4),
            (ALL_TOPICS, 12),
            (produce_request("t", 0, batch_of([b"x"])), PRODUCE_BY_NAME),
            (fetch_request([("t", 0, 0)]), FETCH_BY_NAME),
        ][number % 4]
        order.append((client.send(request, version), request, version))
    for sent, request, version in order:
        answered, _ = client.receive(request, version)
        assert answered == sent


def test_no_request_overtakes_a_parked_fetch(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    first = client.send(waits, FETCH_BY_NAME)
    second = client.send(VERSIONS)
    with Client(kafka.bootstrap) as other:
        other.produce("t", [b"at last"])
    answered, response = client.receive(waits, FETCH_BY_NAME)
    assert answered == first
    assert [record.value for record in records_in(response.responses[0].partitions[0].records)] == [b"at last"]
    assert client.receive(VERSIONS)[0] == second


def test_a_request_behind_a_parked_one_is_served_before_it_is_answered(client: Client) -> None:
    client.create_topic("t")
    waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    writes = produce_request("t", 0, batch_of([b"woken by my own"]))
    order = [client.send(waits, FETCH_BY_NAME), client.send(writes, PRODUCE_BY_NAME)]
    answered, response = client.receive(waits, FETCH_BY_NAME)
    assert answered == order[0]
    assert response.responses[0].partitions[0].records
    assert client.receive(writes, PRODUCE_BY_NAME)[0] == order[1]


def test_more_requests_than_may_wait_behind_a_parked_one_are_all_answered(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    client.send(waits, FETCH_BY_NAME)
    behind = [client.send(VERSIONS) for _ in range(8 * REPLIES_WAITING_MAX)]
    with Client(kafka.bootstrap) as other:
        other.produce("t", [b"go"])
    client.receive(waits, FETCH_BY_NAME)
    assert [client.receive(VERSIONS)[0] for _ in behind] == behind


def test_several_parked_fetches_are_answered_in_order_though_the_last_is_ready_first(kafka: EmbeddedBroker, client: Client) -> None:
    for topic in ("slow", "fast"):
        client.create_topic(topic)
    slow = fetch_request([("slow", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    fast = fetch_request([("fast", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    order = [client.send(slow, FETCH_BY_NAME), client.send(fast, FETCH_BY_NAME)]
    with Client(kafka.bootstrap) as other:
        other.produce("fast", [b"f"])
        other.produce("slow", [b"s"])
    assert [client.receive(slow, FETCH_BY_NAME)[0], client.receive(fast, FETCH_BY_NAME)[0]] == order


def test_acks_0_is_not_answered_and_its_records_are_there(client: Client) -> None:
    client.create_topic("t")
    for number in range(10):
        client.send(produce_request("t", 0, batch_of([b"%d" % number]), acks=0), PRODUCE_BY_NAME)
    assert client.values("t") == [b"%d" % number for number in range(10)]


def test_a_failed_produce_with_acks_0_closes_the_connection(kafka: EmbeddedBroker, client: Client) -> None:
    client.send(produce_request("missing", 0, batch_of([b"x"]), acks=0), PRODUCE_BY_NAME)
    assert client.hung_up()
    with Client(kafka.bootstrap) as other:
        other.probe()


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused(client: Client, acks: int) -> None:
    client.create_topic("t")
    assert client.produce_batch("t", 0, batch_of([b"x"]), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_requests_are_served_however_the_bytes_are_split(client: Client) -> None:
    """Three requests in one stream, split at random places; a split at every place belongs to
    ``tests/hostile``."""
    client.create_topic("t")
    chance = random.Random(7)
    for _ in range(40):
        frames = b"".join(frame_of(VERSIONS, 3, correlation_id=number) for number in range(3))
        cuts = sorted(chance.sample(range(1, len(frames)), 5))
        for start, stop in zip([0, *cuts], [*cuts, len(frames)], strict=True):
            client.send_bytes(frames[start:stop])
        assert [client.receive(VERSIONS, 3)[0] for _ in range(3)] == [0, 1, 2]
