"""A producer's requests repeat each other, and the broker has a shortcut for repeats. No client may
be able to notice it.

Every request here is sent twice, on a connection that has sent the same before and on a new one,
and both must get the same answer.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.compression import Codec
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.messages.produce import PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData
from tests.scenarios.client import PRODUCE_BY_NAME, Client, HungUp, batch_of, frame_of, produce_request
from tests.unit.records.made import with_header
from tests.unit.records.refusals import CASES

TOPIC = 2
VERSIONS = range(3, stable_versions(ApiKey.PRODUCE).highest + 1)


def answer_to(client: Client, request: ProduceRequest, version: int) -> Any:
    return client.ask(request, version).responses[0].partition_responses[0]


def warm(client: Client, topic: str = "t", version: int = PRODUCE_BY_NAME, **options: Any) -> None:
    """Sends the request three times, so that the third one has surely taken the shortcut."""
    for number in range(3):
        assert answer_to(client, produce_request(topic, 0, batch_of([b"warm %d" % number]), **options), version).error_code == 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_repeats_get_the_next_offsets_in_every_version(client: Client, version: int, acks: int) -> None:
    topic_id = client.create_topic("t")
    for number in range(5):
        batch = batch_of([b"%d" % number] * (number + 1))
        request = produce_request("t", 0, batch, acks=acks)
        if version >= 13:
            data = PartitionProduceData(index=0, records=batch)
            request.topic_data = [TopicProduceData(topic_id=topic_id, partition_data=[data])]
        answer = answer_to(client, request, version)
        assert (answer.error_code, answer.index, answer.log_append_time_ms) == (0, 0, -1)
        assert answer.base_offset == number * (number + 1) // 2
        assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert client.values("t") == [b"%d" % number for number in range(5) for _ in range(number + 1)]


def test_another_topic_partition_or_acks_is_no_repeat(client: Client) -> None:
    client.create_topic("t", 2)
    client.create_topic("u")
    warm(client)
    assert client.produce("t", [b"other partition"], partition=1) == 0
    assert client.produce("u", [b"other topic"]) == 0
    assert client.produce_batch("t", 2, batch_of([b"x"])).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.produce_batch("t", 0, batch_of([b"x"]), acks=3).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert client.produce("t", [b"back"]) == 3


def test_a_repeat_to_a_deleted_or_new_topic_is_answered_for_the_current_topic(client: Client) -> None:
    client.create_topic("t")
    warm(client)
    client.delete_topic("t")
    assert client.produce_batch("t", 0, batch_of([b"x"])).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client.create_topic("t")
    assert client.produce("t", [b"first"]) == 0
    assert client.produce("t", [b"second"]) == 1
    assert client.values("t") == [b"first", b"second"]


def test_a_repeat_obeys_settings_that_changed(client: Client) -> None:
    client.create_topic("t")
    warm(client)
    client.alter_configs(TOPIC, "t", {"max.message.bytes": "100"})
    assert client.produce_batch("t", 0, batch_of([b"x" * 100])).error_code == ErrorCode.MESSAGE_TOO_LARGE
    client.alter_configs(TOPIC, "t", {"max.message.bytes": "1000", "message.timestamp.type": "LogAppendTime"})
    assert client.produce_batch("t", 0, batch_of([b"x" * 100])).log_append_time_ms > 0


@pytest.mark.parametrize("case", [case for case in CASES if not case.config and case.name != "a transaction"], ids=str)
def test_a_bad_batch_gets_the_same_refusal_on_both_paths(kafka: EmbeddedBroker, client: Client, case: Any) -> None:
    client.create_topic("t")
    warm(client)
    with Client(kafka.bootstrap) as fresh:
        short, long = (each.produce_batch("t", 0, bytes(case.batch)) for each in (client, fresh))
    assert refusal(short) == refusal(long)


def refusal(answer: PartitionProduceResponse) -> tuple[int, str | None, list[str]]:
    """The refusal that a producer sees, without the time of day."""
    faults = [re.sub(r"between .*", "between", each.batch_index_error_message or "") for each in answer.record_errors]
    return answer.error_code, answer.error_message, faults


def test_a_retry_of_an_idempotent_producer_is_answered_like_the_first_time(client: Client) -> None:
    client.create_topic("t")

    def send(sequence: int) -> tuple[int, int]:
        answer = client.produce_batch("t", 0, batch_of([b"%d" % sequence], producer_id=9, producer_epoch=0, base_sequence=sequence))
        return answer.error_code, answer.base_offset

    assert [send(number) for number in (0, 1, 2, 1, 2, 3, 7, 4)] == [
        *((0, offset) for offset in (0, 1, 2, 1, 2, 3)),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        (0, 4),
    ]
    assert client.values("t") == [b"0", b"1", b"2", b"3", b"4"]


def test_a_sequence_gap_is_refused_where_the_broker_stamps_the_records(client: Client) -> None:
    client.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
    for sequence in range(3):
        batch = batch_of([b"x"], producer_id=9, producer_epoch=0, base_sequence=sequence)
        assert client.produce_batch("t", 0, batch).error_code == 0
    gap = client.produce_batch("t", 0, batch_of([b"x"], producer_id=9, producer_epoch=0, base_sequence=7))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_zstd_needs_version_7_also_in_a_repeat(client: Client) -> None:
    client.create_topic("t")
    warm(client, version=6)
    answer = answer_to(client, produce_request("t", 0, batch_of([b"x"], codec=Codec.ZSTD)), 6)
    assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_corrupt_repeat_is_answered_or_closes_the_connection(kafka: EmbeddedBroker) -> None:
    """Every byte of a remembered request is changed, one at a time: the broker answers or closes
    the connection, and never misreads the request."""
    with Client(kafka.bootstrap) as first:
        first.create_topic("t")
    batch = batch_of([b"x"])
    request = produce_request("t", 0, batch)
    frame = frame_of(request, PRODUCE_BY_NAME, correlation_id=3)
    records_start = frame.index(bytes(batch))
    for position in [*range(4, records_start), *range(len(frame) - 3, len(frame))]:
        with Client(kafka.bootstrap) as client:
            client.send_bytes(frame)
            client.receive(request, PRODUCE_BY_NAME)
            changed = bytearray(frame)
            changed[position] ^= 0x01
            client.send_bytes(changed)
            # A request with acks 0 gets no answer, and one with a larger length waits for more
            # bytes; neither may hold up the test.
            client.socket.settimeout(0.3)
            try:
                client.receive_frame()
            except (HungUp, TimeoutError):
                continue
    with Client(kafka.bootstrap) as last:
        assert set(last.values("t")) == {b"x"}


def test_repeats_to_a_topic_with_another_codec_are_checked_and_stored(client: Client) -> None:
    client.create_topic("t", configs={"compression.type": "lz4"})
    warm(client)
    assert client.produce("t", [b"x" * 1000]) == 3
    assert client.produce_batch("t", 0, with_header(batch_of([b"x"]), crc=5)).error_code == ErrorCode.CORRUPT_MESSAGE
    assert client.values("t", offset=3) == [b"x" * 1000]
