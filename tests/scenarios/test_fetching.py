"""Fetches that wait, the events that end the wait, and the limits on the size of an answer."""

from __future__ import annotations

import time

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.scenarios.client import FETCH_BY_NAME, Client, batch_of, fetch_request, records_in

FOR_EVER_MS = 600_000


def delete_records(client: Client, topic: str, offset: int) -> tuple[int, int]:
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])],
        timeout_ms=10_000,
    )
    answer = client.ask(request).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


# -- waiting ----------------------------------------------------------------------------------


def test_a_fetch_waits_for_the_first_record(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    client.send(waits, FETCH_BY_NAME)
    with Client(kafka.bootstrap) as other:
        other.produce("t", [b"hello"])
    _, response = client.receive(waits, FETCH_BY_NAME)
    assert [record.value for record in records_in(response.responses[0].partitions[0].records)] == [b"hello"]


def test_a_fetch_waits_until_there_is_enough(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t", partitions=2)
    batch = batch_of([b"x" * 100])
    waits = fetch_request([("t", 0, 0), ("t", 1, 0)], min_bytes=3 * len(batch), max_wait_ms=FOR_EVER_MS)
    client.send(waits, FETCH_BY_NAME)
    with Client(kafka.bootstrap) as other:
        for partition in (0, 1, 0):
            assert other.produce_batch("t", partition, batch).error_code == 0
    _, response = client.receive(waits, FETCH_BY_NAME)
    # The answer would hold less if it had been sent before the last of the three records came.
    assert [len(records_in(each.records)) for topic in response.responses for each in topic.partitions] == [2, 1]


def test_a_fetch_without_new_records_is_answered_with_nothing_after_its_wait(client: Client) -> None:
    client.create_topic("t")
    started = time.monotonic()
    answer = client.fetch("t", min_bytes=1, max_wait_ms=300)
    assert time.monotonic() - started >= 0.29
    assert (answer.error_code, answer.records, answer.high_watermark) == (0, b"", 0)


def test_a_fetch_with_too_few_bytes_is_answered_after_its_wait(client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"little"])
    answer = client.fetch("t", min_bytes=1_000_000, max_wait_ms=200)
    assert [record.value for record in records_in(answer.records)] == [b"little"]


def test_a_client_with_no_wait_time_is_answered_at_once(client: Client) -> None:
    client.create_topic("t")
    assert client.fetch("t", min_bytes=1_000_000, max_wait_ms=0).records == b""


@pytest.mark.parametrize(
    ("topic", "offset", "error"), [("missing", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("t", 17, ErrorCode.OFFSET_OUT_OF_RANGE)]
)
def test_one_partition_with_an_error_ends_the_wait_of_the_whole_fetch(client: Client, topic: str, offset: int, error: ErrorCode) -> None:
    client.create_topic("t")
    client.create_topic("fine")
    request = fetch_request([("fine", 0, 0), (topic, 0, offset)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    response = client.ask(request, FETCH_BY_NAME)
    assert [each.partitions[0].error_code for each in response.responses] == [0, error]


def test_deleting_the_topic_ends_the_wait(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    client.send(waits, FETCH_BY_NAME)
    with Client(kafka.bootstrap) as other:
        other.delete_topic("t")
    _, response = client.receive(waits, FETCH_BY_NAME)
    assert response.responses[0].partitions[0].error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_a_reader_that_leaves_while_its_fetch_waits_does_no_harm(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    with Client(kafka.bootstrap) as other:
        other.send(fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS), FETCH_BY_NAME)
    client.produce("t", [b"nobody waits any more"])
    assert client.values("t") == [b"nobody waits any more"]


def test_many_readers_wait_for_one_record(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=FOR_EVER_MS)
    readers = [Client(kafka.bootstrap) for _ in range(50)]
    for reader in readers:
        reader.send(waits, FETCH_BY_NAME)
    client.produce("t", [b"for all"])
    for reader in readers:
        assert len(records_in(reader.receive(waits, FETCH_BY_NAME)[1].responses[0].partitions[0].records)) == 1
        reader.close()


# -- limits on the size -----------------------------------------------------------------------


def test_a_batch_above_the_limit_comes_whole_so_that_the_reader_can_advance(client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"x" * 100_000])
    assert len(records_in(client.fetch("t", partition_max_bytes=1, max_bytes=1).records)) == 1


def test_only_the_first_partition_with_data_may_exceed_the_limit(client: Client) -> None:
    client.create_topic("t", partitions=3)
    for partition in (1, 2):
        client.produce("t", [b"x" * 1000], partition=partition)
    response = client.ask(fetch_request([("t", partition, 0) for partition in range(3)], max_bytes=10), FETCH_BY_NAME)
    found = [data.partition_index for topic in response.responses for data in topic.partitions if data.records]
    assert found == [1]


def test_batches_come_whole_up_to_the_limit_of_the_partition(client: Client) -> None:
    client.create_topic("t")
    size = len(batch_of([b"x" * 1000]))
    for _ in range(5):
        client.produce("t", [b"x" * 1000])
    assert len(records_in(client.fetch("t", partition_max_bytes=3 * size).records)) == 3
    assert len(records_in(client.fetch("t", partition_max_bytes=3 * size + 17).records)) == 3


def test_fetch_max_bytes_of_the_broker_bounds_an_answer_whatever_the_client_asks_for() -> None:
    size = len(batch_of([b"x" * 1000]))
    with EmbeddedBroker(config={"fetch.max.bytes": str(2 * size)}) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t")
        for _ in range(5):
            client.produce("t", [b"x" * 1000])
        assert len(records_in(client.fetch("t").records)) == 2


def test_a_fetch_from_the_middle_of_a_batch_gets_the_whole_batch(client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"0", b"1", b"2"])
    assert [record.offset for record in records_in(client.fetch("t", offset=1).records)] == [0, 1, 2]


# -- offsets and epochs -----------------------------------------------------------------------


def test_the_end_is_in_range_and_one_further_is_not(client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"0", b"1"])
    assert client.fetch("t", offset=2).error_code == 0
    assert client.fetch("t", offset=3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.fetch("t", offset=-1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_deleted_records_are_out_of_range(client: Client) -> None:
    client.create_topic("t")
    for number in range(4):
        client.produce("t", [b"%d" % number])
    assert delete_records(client, "t", 2) == (0, 2)
    assert client.fetch("t", offset=1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    answer = client.fetch("t", offset=2)
    assert (answer.error_code, answer.log_start_offset) == (0, 2)
    assert client.end_offset("t", timestamp=-2) == 2
    assert delete_records(client, "t", 5)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_records(client, "t", -2)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_records(client, "t", -1) == (0, 4)
    assert client.values("t", offset=4) == []


def fetch_with_epochs(current_leader_epoch: int, last_fetched_epoch: int = -1) -> FetchRequest:
    partition = FetchPartition(
        partition=0,
        fetch_offset=0,
        partition_max_bytes=1000,
        current_leader_epoch=current_leader_epoch,
        last_fetched_epoch=last_fetched_epoch,
    )
    request = fetch_request([])
    request.topics = [FetchTopic(topic="t", partitions=[partition])]
    return request


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(-1, ErrorCode.NONE), (0, ErrorCode.NONE), (1, ErrorCode.UNKNOWN_LEADER_EPOCH), (99, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_client_with_a_later_leader_epoch_gets_an_error(client: Client, epoch: int, error: ErrorCode) -> None:
    client.create_topic("t")
    assert client.ask(fetch_with_epochs(epoch), FETCH_BY_NAME).responses[0].partitions[0].error_code == error


def test_a_client_with_an_earlier_leader_epoch_is_fenced(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    kafka.stop()
    kafka.start()
    with Client(kafka.bootstrap) as again:
        answer = again.ask(fetch_with_epochs(0), FETCH_BY_NAME).responses[0].partitions[0]
        assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_fetch_in_the_name_of_a_replica_is_refused(client: Client) -> None:
    client.create_topic("t")
    request = fetch_request([("t", 0, 0)])
    request.replica_id = 2
    assert client.ask(request, FETCH_BY_NAME).responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
