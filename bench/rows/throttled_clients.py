"""How exactly clients with a quota get their rate."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.requests import ask
from bench.systems import Server, System
from bench.topics import new_topic

RATE_BYTES = 2_000_000
VALUE_BYTES = 10_000
# A client that was idle may send the bytes of ten seconds at once. They do not count.
BURST_BYTES = 10 * RATE_BYTES
# A rate is measured over eleven seconds, so a shorter measurement would see one of its waves.
MEASURED_BYTES = 11 * RATE_BYTES
SECONDS_MAX = 120.0
_ALTER_VERSION = 1

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class ThrottledClients:
    family = "throttled clients get their rate"
    about = (
        f"librdkafka produces and consumes with a quota of {RATE_BYTES / 1e6:g} MB/s. After the burst that a quota allows, the time for "
        f"{MEASURED_BYTES / 1e6:g} MB is compared with the quota."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(f"{self.family}, producer", "% off", Better.LOWER, Goal(ours=10.0)),
            Figure(f"{self.family}, consumer", "% off", Better.LOWER, Goal(ours=10.0)),
        )

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        def measure() -> tuple[float, ...]:
            server = system.server()
            # A new client id for each measurement, because the use of an earlier one is on record.
            client_id = f"throttled-{next(_numbers)}"
            with new_topic(server, 1) as topic:
                _set_quotas(server, client_id, RATE_BYTES)
                try:
                    return _off(_produce(server, topic, client_id)), _off(_consume(server, topic, client_id))
                finally:
                    _set_quotas(server, client_id, None)

        yield measure


def _off(seconds: float) -> float:
    return abs(MEASURED_BYTES / seconds / RATE_BYTES - 1) * 100


def _produce(server: Server, topic: str, client_id: str) -> float:
    delivered = 0

    def on_delivery(error: object, _: object) -> None:
        nonlocal delivered
        if error is not None:
            raise MeasurementFailed(f"a record was not delivered: {error}")
        delivered += VALUE_BYTES

    producer = Producer({"bootstrap.servers": server.bootstrap, "client.id": client_id, "acks": "1", "queue.buffering.max.kbytes": 2000})

    def send(until_bytes: int) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        while delivered < until_bytes:
            try:
                producer.produce(topic, bytes(VALUE_BYTES), on_delivery=on_delivery)
                producer.poll(0)
            except BufferError:
                producer.poll(0.05)
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"only {delivered} bytes were delivered")

    send(BURST_BYTES)
    started = time.perf_counter()
    send(BURST_BYTES + MEASURED_BYTES)
    seconds = time.perf_counter() - started
    producer.flush(SECONDS_MAX)
    return seconds


def _consume(server: Server, topic: str, client_id: str) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": server.bootstrap,
            "client.id": client_id,
            "group.id": client_id,
            "enable.auto.commit": False,
            # Read no further ahead than a fraction of a second, so that what was polled is what was
            # fetched.
            "queued.max.messages.kbytes": 500,
            "fetch.message.max.bytes": 200_000,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])

    def receive(wanted_bytes: int) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        received = 0
        while received < wanted_bytes:
            message = consumer.poll(1.0)
            value = None if message is None or message.error() else message.value()
            received += len(value or b"")
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"only {received} of {wanted_bytes} bytes were consumed")

    try:
        receive(BURST_BYTES)
        started = time.perf_counter()
        receive(MEASURED_BYTES - VALUE_BYTES)
        return time.perf_counter() - started
    finally:
        consumer.close()


def _set_quotas(server: Server, client_id: str, rate: float | None) -> None:
    ops = [OpData(key=key, value=rate or 0.0, remove=rate is None) for key in ("producer_byte_rate", "consumer_byte_rate")]
    entity = [EntityData(entity_type="client-id", entity_name=client_id)]
    request = AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=ops)], validate_only=False)
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS_MAX) as connection:
        (entry,) = ask(connection, request, _ALTER_VERSION).entries
    if entry.error_code:
        raise MeasurementFailed(f"the quota was refused: {entry.error_message}")


ROWS = (ThrottledClients(),)
