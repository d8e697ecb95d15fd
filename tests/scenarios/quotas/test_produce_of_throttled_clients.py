"""A producer over its quota: the response comes at once and names the wait, and the broker reads
nothing more until the wait is over.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.scenarios.client import FETCH_BY_NAME, PRODUCE_BY_NAME, Client, batch_of, fetch_request, produce_request
from tests.scenarios.quotas.altering import ANONYMOUS, set_quota
from tests.waiting import PATIENCE_SECONDS, until

VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")
# A burst of ten seconds is free, so this much is over the quota by a quarter of a second.
RATE = 1000
OVER = 10 * RATE + RATE // 4


def big(acks: int = 1) -> object:
    return produce_request("t", 0, batch_of([bytes(OVER)]), acks=acks)


def test_a_produce_over_the_quota_names_the_wait(client: Client) -> None:
    client.create_topic("t")
    set_quota(client, ANONYMOUS, producer_byte_rate=RATE)
    assert client.ask(produce_request("t", 0, batch_of([b"small"])), PRODUCE_BY_NAME).throttle_time_ms == 0
    # Over the quota for ten seconds, however long the machine takes.
    twice = produce_request("t", 0, batch_of([bytes(2 * OVER)]))
    assert client.ask(twice, PRODUCE_BY_NAME).throttle_time_ms > 0


def test_a_throttled_connection_is_not_read_but_answered(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    with Client(kafka.bootstrap) as other:
        # Days of throttle: nothing but the mute can hold back the request behind it.
        set_quota(other, ANONYMOUS, producer_byte_rate=1)
        response = client.ask(big(), PRODUCE_BY_NAME)
        assert response.throttle_time_ms > 1000
        assert response.responses[0].partition_responses[0].error_code == 0
        client.send(VERSIONS)
        # The other connection of the same client is served, and only its own produce throttles it.
        for _ in range(20):
            other.ask(VERSIONS)
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.receive_frame()


def test_requests_behind_a_throttled_one_are_served_after_the_wait(client: Client) -> None:
    client.create_topic("t")
    set_quota(client, ANONYMOUS, producer_byte_rate=RATE)
    big_one = big()
    first, second, third = client.send(big_one, PRODUCE_BY_NAME), client.send(VERSIONS), client.send(VERSIONS)
    answered, response = client.receive(big_one, PRODUCE_BY_NAME)
    assert (answered, response.throttle_time_ms > 0) == (first, True)
    assert [client.receive(VERSIONS)[0] for _ in range(2)] == [second, third]


def test_a_produce_without_a_response_is_throttled_as_well(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    with Client(kafka.bootstrap) as other:
        set_quota(other, ANONYMOUS, producer_byte_rate=1)
        client.send(big(acks=0), PRODUCE_BY_NAME)
        client.send(VERSIONS)
        until(lambda: other.ask(fetch_request([("t", 0, 0)]), FETCH_BY_NAME).responses[0].partitions[0].records, "the batch is in the log")
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.receive_frame()


def test_a_repeated_produce_is_measured_from_the_moment_the_quota_is_set(client: Client) -> None:
    """Repeated requests take a shortcut, which measures nothing."""
    client.create_topic("t")
    for _ in range(5):
        assert client.ask(produce_request("t", 0, batch_of([bytes(RATE)])), PRODUCE_BY_NAME).throttle_time_ms == 0
    set_quota(client, ANONYMOUS, producer_byte_rate=RATE)
    until(
        lambda: client.ask(produce_request("t", 0, batch_of([bytes(RATE)])), PRODUCE_BY_NAME).throttle_time_ms > 0,
        "repeated requests are throttled",
    )
    set_quota(client, ANONYMOUS, producer_byte_rate=None)
    for _ in range(20):
        assert client.ask(produce_request("t", 0, batch_of([bytes(RATE)])), PRODUCE_BY_NAME).throttle_time_ms == 0


def test_a_quota_of_another_client_has_no_effect(client: Client) -> None:
    client.create_topic("t")
    set_quota(client, {"client-id": "another"}, producer_byte_rate=1)
    assert [client.ask(big(), PRODUCE_BY_NAME).throttle_time_ms for _ in range(3)] == [0, 0, 0]


def test_a_quota_of_the_default_client_id_applies_to_each_client_by_itself(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    set_quota(client, {"client-id": None}, producer_byte_rate=RATE)
    throttled: list[float] = []
    waits = {"client.id": "rdkafka", "bootstrap.servers": kafka.bootstrap, "throttle_cb": throttled.append}
    assert client.ask(big(), PRODUCE_BY_NAME).throttle_time_ms > 0
    producer = Producer(waits)
    producer.produce("t", b"small")
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert not throttled


def test_librdkafka_is_throttled_and_loses_nothing(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    set_quota(client, {"client-id": "rdkafka"}, producer_byte_rate=50_000)
    throttled: list[object] = []
    delivered: list[object] = []
    settings = {"client.id": "rdkafka", "bootstrap.servers": kafka.bootstrap, "throttle_cb": throttled.append, "batch.size": 50_000}
    producer = Producer(settings)
    for _ in range(600):
        producer.produce("t", bytes(1000), on_delivery=lambda error, message: delivered.append(error))
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert delivered == [None] * 600
    until(lambda: producer.poll(0) or throttled, "librdkafka learns of the throttle")
