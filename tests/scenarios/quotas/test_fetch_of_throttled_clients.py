"""A consumer over its quota: an empty response with the wait, and the same records after it."""

from __future__ import annotations

import pytest

from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import FETCH_BY_NAME, Client, batch_of, fetch_request, records_in
from tests.scenarios.quotas.altering import ANONYMOUS, set_quota
from tests.waiting import until

RATE = 1000
# One batch of this size, with its header, is a little less than the quota of a second.
BATCH = 850
ALL = fetch_request([("t", 0, 0)])
ONE = fetch_request([("t", 0, 0)], partition_max_bytes=1)
# Ten batches are just below the quota of ten seconds, and two more are over it for a second longer,
# so a busy machine may take that second to ask.
TWO_BATCHES = 2 * len(batch_of([bytes(BATCH)]))
TWO = fetch_request([("t", 0, 0)], partition_max_bytes=TWO_BATCHES)


def fill(client: Client, batches: int, size_bytes: int) -> None:
    client.create_topic("t")
    for number in range(batches):
        client.produce("t", [bytes([number]) * size_bytes])


def test_a_fetch_over_the_quota_is_empty_and_names_the_wait(client: Client) -> None:
    fill(client, 10, BATCH)
    set_quota(client, ANONYMOUS, consumer_byte_rate=RATE)
    # A client that was idle may fetch the bytes of ten seconds at once.
    first = client.ask(ALL, FETCH_BY_NAME)
    assert (len(first.responses), first.throttle_time_ms) == (1, 0)
    second = client.ask(TWO, FETCH_BY_NAME)
    assert (second.responses, second.error_code, second.throttle_time_ms > 0) == ([], 0, True)


def test_records_that_were_withheld_come_after_the_wait(client: Client) -> None:
    fill(client, 10, BATCH)
    set_quota(client, ANONYMOUS, consumer_byte_rate=RATE)
    client.ask(ALL, FETCH_BY_NAME)
    assert not client.ask(TWO, FETCH_BY_NAME).responses
    found = until(lambda: client.ask(ONE, FETCH_BY_NAME).responses, "the records come")
    assert records_in(found[0].partitions[0].records)[0].value == bytes([0]) * BATCH


def test_a_fetch_is_never_larger_than_the_quota_allows_after_a_pause(client: Client) -> None:
    fill(client, 20, BATCH)
    set_quota(client, ANONYMOUS, consumer_byte_rate=RATE)
    found = until(lambda: client.ask(ALL, FETCH_BY_NAME).responses, "the records come")
    assert 9 * RATE < len(found[0].partitions[0].records) <= 10 * RATE


def test_a_session_survives_a_throttled_fetch(client: Client) -> None:
    fill(client, 10, BATCH)
    set_quota(client, ANONYMOUS, consumer_byte_rate=RATE)
    opened = client.ask(fetch_request([("t", 0, 0)], session_epoch=0), FETCH_BY_NAME)
    assert opened.session_id
    again = fetch_request([("t", 0, 0)], session_id=opened.session_id, session_epoch=1, partition_max_bytes=TWO_BATCHES)
    withheld = client.ask(again, FETCH_BY_NAME)
    assert (withheld.session_id, withheld.responses, withheld.throttle_time_ms > 0) == (opened.session_id, [], True)
    found = client.ask(fetch_request([], session_id=opened.session_id, session_epoch=2), FETCH_BY_NAME)
    assert (found.error_code, found.session_id) == (0, opened.session_id)


def test_a_throttled_fetch_opens_no_session(client: Client) -> None:
    fill(client, 10, BATCH)
    set_quota(client, ANONYMOUS, consumer_byte_rate=RATE)
    client.ask(ALL, FETCH_BY_NAME)
    withheld = client.ask(fetch_request([("t", 0, 0)], session_epoch=0, partition_max_bytes=TWO_BATCHES), FETCH_BY_NAME)
    assert (withheld.responses, withheld.session_id, withheld.throttle_time_ms > 0) == ([], 0, True)


def test_a_batch_larger_than_the_quota_allows_passes_and_is_paid_for_afterwards(kafka: EmbeddedBroker, client: Client) -> None:
    fill(client, 1, 12 * RATE)
    with Client(kafka.bootstrap) as other:
        set_quota(other, ANONYMOUS, consumer_byte_rate=RATE)
    found = client.ask(ALL, FETCH_BY_NAME)
    assert len(found.responses[0].partitions[0].records) > 12 * RATE
    assert found.throttle_time_ms > 0


def test_a_follower_is_exempt(client: Client) -> None:
    fill(client, 10, BATCH)
    set_quota(client, ANONYMOUS, consumer_byte_rate=RATE, request_percentage=0.001)
    # Not a replica of this cluster, so each partition is refused, but none is withheld.
    asked = fetch_request([("t", 0, 0)])
    asked.replica_id = 7
    assert [client.ask(asked, FETCH_BY_NAME).throttle_time_ms for _ in range(5)] == [0] * 5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_reads_everything_in_spite_of_a_quota(kafka: EmbeddedBroker, client: Client) -> None:
    # kafka-python warns when it is imported.
    from kafka import KafkaConsumer

    fill(client, 24, 2 * RATE)
    set_quota(client, {"client-id": "snake"}, consumer_byte_rate=20 * RATE)
    consumer = KafkaConsumer(
        "t", bootstrap_servers=kafka.bootstrap, client_id="snake", auto_offset_reset="earliest", max_partition_fetch_bytes=10 * RATE
    )
    found: list[bytes] = []

    def all_came() -> bool:
        found.extend(record.value for records in consumer.poll(timeout_ms=1000).values() for record in records)
        return len(found) == 24

    until(all_came, "all records come")
    consumer.close()
    assert found == [bytes([number]) * (2 * RATE) for number in range(24)]
