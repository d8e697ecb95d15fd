"""Compacted topics refuse records without a key, and name them to the client."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from tests.conformance.clients.conftest import MakeTopic
from tests.scenarios.client import NOW_MS, Client
from tests.waiting import PATIENCE_SECONDS


def test_librdkafka_reports_an_invalid_record(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    heard: list[Any] = []
    for key in (b"key", None, b"other key"):
        producer.produce(topic, key=key, value=b"value", on_delivery=lambda error, _: heard.append(error))
        assert producer.flush(PATIENCE_SECONDS) == 0
    assert [error and error.code() for error in heard] == [None, KafkaError.INVALID_RECORD, None]


def test_kafka_python_reports_an_invalid_record(bootstrap: str, make_topic: MakeTopic) -> None:
    from kafka import KafkaProducer
    from kafka.errors import KafkaError as PythonError

    topic = make_topic(cleanup_policy="compact,delete")
    producer = KafkaProducer(bootstrap_servers=bootstrap, retries=0)
    try:
        producer.send(topic, key=b"key", value=b"value").get(PATIENCE_SECONDS)
        with pytest.raises(PythonError) as refused:
            producer.send(topic, value=b"value").get(PATIENCE_SECONDS)
        assert "InvalidRecord" in repr(refused.value) or getattr(refused.value, "errno", None) == ErrorCode.INVALID_RECORD
    finally:
        producer.close()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_batch_with_some_keys_is_refused_and_its_keyless_records_are_named(bootstrap: str, make_topic: MakeTopic, codec: Codec) -> None:
    topic = make_topic(cleanup_policy="compact")
    keys = [b"a", None, b"b", None, None, b"c"]
    batch = build_batch([Record(offset, NOW_MS, key, b"value") for offset, key in enumerate(keys)], codec=codec)
    with Client(bootstrap) as client:
        answer = client.produce_batch(topic, 0, batch)
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [each.batch_index for each in answer.record_errors] == [1, 3, 4]
        assert answer.error_message
        assert client.end_offset(topic) == 0
