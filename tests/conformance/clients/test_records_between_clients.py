"""Records of one client are read by all others: codecs, shapes, partitions, timestamps."""

from __future__ import annotations

import pytest

from tests.conformance.clients.conftest import MakeTopic
from tests.conformance.clients.three_clients import CLIENTS, Client, Record

producers = pytest.mark.parametrize("producer", CLIENTS, ids=[f"from {client.name}" for client in CLIENTS])
consumers = pytest.mark.parametrize("consumer", CLIENTS, ids=[f"to {client.name}" for client in CLIENTS])
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NOW = 1_790_000_000_000

SHAPES = [
    Record(b"key", b"value", (), NOW),
    Record(None, b"value without a key", (), NOW + 1),
    Record(b"tombstone", None, (), NOW + 2),
    Record(None, None, (), NOW + 3),
    Record(b"", b"", (), NOW + 4),
    Record(b"\x00\xff", bytes(range(256)), (), NOW + 5),
    Record(b"headed", b"value", (("name", b"value"), ("empty", b""), ("name", b"again"), ("ümlaut", b"\xff")), NOW + 6),
    Record(b"long", b"0123456789" * 10_000, (), NOW + 7),
    # The timestamps are out of order: offsets order the records, and producers choose the
    # timestamps.
    Record(b"earlier", b"value", (), NOW - 1000),
]


def shapes(producer: Client) -> list[Record]:
    return [record for record in SHAPES if producer.sends_null or record.key is not None or record.value is not None]


@producers
@consumers
@pytest.mark.parametrize("codec", CODECS)
def test_records_arrive_as_they_were_sent(make_topic: MakeTopic, bootstrap: str, producer: Client, consumer: Client, codec: str) -> None:
    topic = make_topic()
    records = shapes(producer)
    assert producer.produce(bootstrap, topic, records, codec=codec) == [(0, offset) for offset in range(len(records))]
    found = consumer.consume(bootstrap, topic, len(records))
    assert [each.offset for each in found] == list(range(len(records)))
    assert [each.record for each in found] == records


def test_a_header_may_have_no_value(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    record = Record(b"k", b"v", (("null", None), ("empty", b"")), NOW)
    (producer,) = (client for client in CLIENTS if client.sends_null)
    producer.produce(bootstrap, topic, [record])
    for consumer in CLIENTS:
        assert [each.record for each in consumer.consume(bootstrap, topic, 1)] == [record]


@producers
@pytest.mark.parametrize("codec", CODECS)
def test_a_record_may_have_a_megabyte(make_topic: MakeTopic, bootstrap: str, producer: Client, codec: str) -> None:
    topic = make_topic()
    # Half of the value is noise and half is not, so that codecs compress one part and not the
    # other.
    value = b"".join(bytes([number * 7 & 0xFF, number * 13 >> 3 & 0xFF]) for number in range(250_000)) + bytes(500_000)
    assert len(value) == 1_000_000
    producer.produce(bootstrap, topic, [Record(b"big", value, (), NOW)], codec=codec)
    for consumer in CLIENTS:
        ((_, record),) = consumer.consume(bootstrap, topic, 1)
        assert record.value == value


@producers
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_with_any_setting_of_acks(make_topic: MakeTopic, bootstrap: str, producer: Client, acks: str) -> None:
    topic = make_topic()
    records = [Record(None, f"{number}".encode(), (), NOW) for number in range(200)]
    sent = producer.produce(bootstrap, topic, records, acks=acks)
    if acks != "0":
        assert sent == [(0, offset) for offset in range(200)]
    assert [each.record.value for each in CLIENTS[0].consume(bootstrap, topic, 200)] == [record.value for record in records]


@producers
def test_records_of_an_idempotent_producer_arrive(make_topic: MakeTopic, bootstrap: str, producer: Client) -> None:
    topic = make_topic(2)
    records = [Record(None, f"{number}".encode(), (), NOW) for number in range(500)]
    for partition in (0, 1):
        sent = producer.produce(bootstrap, topic, records, partition=partition, codec="snappy", idempotent=True)
        assert sent == [(partition, offset) for offset in range(500)]


@producers
def test_a_record_goes_to_its_explicit_partition(make_topic: MakeTopic, bootstrap: str, producer: Client) -> None:
    topic = make_topic(7)
    for partition in (6, 0, 3):
        assert producer.produce(bootstrap, topic, [Record(b"same key", b"v", (), NOW)], partition=partition) == [(partition, 0)]


def test_all_clients_put_a_key_into_the_same_partition(make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic(13)
    records = [Record(f"key-{number}".encode(), b"v", (), NOW) for number in range(200)]
    chosen = {client.name: [partition for partition, _ in client.produce(bootstrap, topic, records, partition=None)] for client in CLIENTS}
    assert len(set(chosen["librdkafka"])) == 13
    assert chosen["kafka-python"] == chosen["aiokafka"] == chosen["librdkafka"]


@producers
def test_a_compacted_topic_refuses_records_without_keys(make_topic: MakeTopic, bootstrap: str, producer: Client) -> None:
    topic = make_topic(cleanup_policy="compact")
    assert producer.produce(bootstrap, topic, [Record(b"key", b"v", (), NOW)]) == [(0, 0)]
    # aiokafka does not know the error and calls it unknown.
    with pytest.raises(Exception, match=r"(?i)invalid.?record|compacted|rejected|UnknownError"):
        producer.produce(bootstrap, topic, [Record(None, b"v", (), NOW)])


@producers
def test_a_batch_that_is_too_large_is_refused(make_topic: MakeTopic, bootstrap: str, producer: Client) -> None:
    topic = make_topic(max_message_bytes="5000")
    with pytest.raises(Exception, match=r"(?i)too.?large|size"):
        producer.produce(bootstrap, topic, [Record(None, bytes(6000), (), NOW)])
    assert producer.produce(bootstrap, topic, [Record(None, bytes(4000), (), NOW)]) == [(0, 0)]


@producers
def test_a_topic_with_log_append_time_stamps_its_records(make_topic: MakeTopic, bootstrap: str, producer: Client) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    producer.produce(bootstrap, topic, [Record(None, b"v", (), 1000), Record(None, b"v", (), 2000)], codec="lz4")
    for consumer in CLIENTS:
        times = {each.record.timestamp for each in consumer.consume(bootstrap, topic, 2)}
        assert len(times) == 1
        assert min(time for time in times if time is not None) > 1_700_000_000_000


@producers
def test_a_timestamp_from_the_far_future_is_refused(make_topic: MakeTopic, bootstrap: str, producer: Client) -> None:
    topic = make_topic()
    with pytest.raises(Exception, match=r"(?i)timestamp"):
        producer.produce(bootstrap, topic, [Record(None, b"v", (), 4_000_000_000_000)])


@producers
@pytest.mark.parametrize("codec", ["gzip", "zstd", "uncompressed"])
def test_a_topic_with_a_codec_of_its_own_recompresses(make_topic: MakeTopic, bootstrap: str, producer: Client, codec: str) -> None:
    topic = make_topic(compression_type=codec)
    records = shapes(producer)
    producer.produce(bootstrap, topic, records, codec="lz4")
    for consumer in CLIENTS:
        assert [each.record for each in consumer.consume(bootstrap, topic, len(records))] == records


@consumers
def test_reading_begins_at_any_offset_also_inside_a_batch(make_topic: MakeTopic, bootstrap: str, consumer: Client) -> None:
    topic = make_topic()
    records = [Record(None, f"{number}".encode(), (), NOW) for number in range(50)]
    CLIENTS[0].produce(bootstrap, topic, records, codec="zstd")
    for offset in (0, 1, 25, 49):
        found = consumer.consume(bootstrap, topic, 50 - offset, offset=offset)
        assert [each.offset for each in found] == list(range(offset, 50))


@consumers
def test_records_arrive_in_each_of_many_partitions(make_topic: MakeTopic, bootstrap: str, consumer: Client) -> None:
    topic = make_topic(100)
    for partition in (0, 50, 99):
        CLIENTS[0].produce(bootstrap, topic, [Record(None, f"{partition}".encode(), (), NOW)], partition=partition)
        assert consumer.consume(bootstrap, topic, 1, partition=partition)[0].record.value == f"{partition}".encode()
