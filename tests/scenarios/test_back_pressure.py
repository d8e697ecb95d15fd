"""The broker stops reading from a client that does not read its answers: such a client costs a
bounded amount of memory and does not slow down the others.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.scenarios.client import FETCH_BY_NAME, Client, batch_of, fetch_request, frame_of, newest
from tests.waiting import PATIENCE_SECONDS

BATCH_BYTES = 500_000
# Requests of 8 KiB: far more than any buffer on the way holds, and far fewer than would be a
# problem if the broker read them all.
REQUESTS_MAX = 6_000
CLIENT_ID = "x" * 8000
# A connection that moves no byte for this long counts as stalled: the broker is not reading.
STALLED_SECONDS = 0.7


@pytest.fixture
def deaf(kafka: EmbeddedBroker) -> Iterator[Client]:
    with Client(kafka.bootstrap, receive_buffer_bytes=4096) as made:
        yield made


def send_until_stalled(client: Client, frame: bytes) -> tuple[int, bytes]:
    """How many frames the broker read before it stopped, and the part of the last frame that is
    still unsent."""
    client.socket.setblocking(False)
    sent = 0
    while sent < REQUESTS_MAX * len(frame):
        _, writable, _ = select.select([], [client.socket], [], STALLED_SECONDS)
        if not writable:
            client.socket.settimeout(PATIENCE_SECONDS)
            return -(-sent // len(frame)), frame[sent % len(frame) :] if sent % len(frame) else b""
        with suppress(BlockingIOError):
            sent += client.socket.send(frame[sent % len(frame) :])
    raise AssertionError("the broker took everything from a client that reads nothing")


def test_fetched_records_wait_until_they_are_read_and_all_arrive(kafka: EmbeddedBroker, client: Client, deaf: Client) -> None:
    client.create_topic("t")
    client.produce_batch("t", 0, batch_of([b"x" * BATCH_BYTES]))
    request = fetch_request([("t", 0, 0)])
    requests, rest = send_until_stalled(deaf, frame_of(request, FETCH_BY_NAME, client_id=CLIENT_ID))
    client.probe()
    sender = threading.Thread(target=deaf.send_bytes, args=(rest,))
    sender.start()
    for _ in range(requests):
        _, response = deaf.receive(request, FETCH_BY_NAME)
        assert len(response.responses[0].partitions[0].records) > BATCH_BYTES
    sender.join()


def test_small_answers_wait_too(kafka: EmbeddedBroker, client: Client, deaf: Client) -> None:
    """Answers that are bytes and not file regions take another path out of the broker."""
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)],
        include_synonyms=True,
        include_documentation=True,
    )
    requests, _ = send_until_stalled(deaf, frame_of(request, newest(request), client_id=CLIENT_ID))
    client.probe()
    for _ in range(min(requests - 1, 30)):
        assert deaf.receive(request)[1].results[0].error_code == 0


def test_a_deaf_client_that_leaves_is_forgotten(kafka: EmbeddedBroker, client: Client, deaf: Client) -> None:
    client.create_topic("t")
    client.produce_batch("t", 0, batch_of([b"x" * BATCH_BYTES]))
    send_until_stalled(deaf, frame_of(fetch_request([("t", 0, 0)]), FETCH_BY_NAME, client_id=CLIENT_ID))
    deaf.close()
    client.probe()
    client.delete_topic("t")
    client.create_topic("t")
    assert client.values("t") == []


def test_a_broker_with_a_deaf_client_stops_at_once(client: Client, deaf: Client, kafka: EmbeddedBroker) -> None:
    client.create_topic("t")
    client.produce_batch("t", 0, batch_of([b"x" * BATCH_BYTES]))
    send_until_stalled(deaf, frame_of(fetch_request([("t", 0, 0)]), FETCH_BY_NAME, client_id=CLIENT_ID))
    kafka.stop()
    kafka.start()
    with Client(kafka.bootstrap) as again:
        assert again.values("t") == [b"x" * BATCH_BYTES]
