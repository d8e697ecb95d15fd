"""Sends records, with librdkafka: it has retries without duplicates, and Java's partitioner."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException, Producer

from barnabas.client_settings.bearer_token import for_librdkafka_client
from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.core.record_request import NewRecord
from barnabas.console.errors import ClusterRefused

SEND_SECONDS_MAX: Final = 15.0

_silence = logging.getLogger("barnabas.console.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


def silent_logger() -> logging.Logger:
    """For clients of librdkafka, which would print to the standard error; their errors come back
    as answers."""
    return _silence


class Sent(NamedTuple):
    partition: int
    offset: int


def send(bootstrap: str, properties: Mapping[str, str], topic: str, records: Sequence[NewRecord]) -> list[Sent]:
    """Returns when all records are on all in-sync replicas. Raises :class:`ClusterRefused` with the
    first reason, and the number of records that were sent. Blocks; the producer lives only here:
    people send seldom, and a kept one has threads and connections for each principal."""
    try:
        own = for_librdkafka_client(properties)
        producer = Producer(
            {
                **own,
                "bootstrap.servers": bootstrap,
                "client.id": "barnabas-console",
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 0,
                "message.timeout.ms": int(SEND_SECONDS_MAX * 1000),
                "message.max.bytes": 64 * 1024 * 1024,
                "logger": _silence,
            }
        )
    except (KafkaException, SettingsRefused, TypeError, ValueError) as error:
        raise ClusterRefused(f"The producer cannot be configured: {error}.") from error
    sent: list[Sent] = []
    errors: list[str] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            errors.append(error.str())
        else:
            sent.append(Sent(message.partition(), message.offset()))

    try:
        for each in records:
            _produce(producer, topic, each, delivered)
    except KafkaException as error:
        errors.append(error.args[0].str())
    producer.flush(SEND_SECONDS_MAX)
    if errors or len(sent) < len(records):
        reason = errors[0] if errors else f"no answer within {SEND_SECONDS_MAX:g} seconds"
        raise ClusterRefused(f"Only {len(sent)} of {len(records)} records were sent to {topic}: {reason.rstrip('.')}.")
    return sent


def _produce(producer: Producer, topic: str, record: NewRecord, delivered: Any) -> None:
    deadline = time.monotonic() + SEND_SECONDS_MAX
    # librdkafka's number for a partition that the key chooses.
    partition = record.partition if record.partition is not None else -1
    headers: Any = record.headers or None
    while True:
        try:
            producer.produce(topic, record.value, record.key, partition, delivered, headers=headers)
            producer.poll(0)
            return
        except BufferError:
            if time.monotonic() > deadline:
                raise ClusterRefused(f"The brokers do not take the records of {topic}.") from None
            producer.poll(0.1)
