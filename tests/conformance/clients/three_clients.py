"""librdkafka, kafka-python and aiokafka behind one interface, so that a claim about all of them is
written once.

Each client writes and reads with its own code: its own batches, compressors, checksums and
requests. Nothing here uses Barnabas' code. Consumers assign their partitions themselves; groups
have tests of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition as AioKafkaPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message as LibrdkafkaMessage, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer, TopicPartition as KafkaPythonPartition

from tests.waiting import PATIENCE_SECONDS

# librdkafka reports on stderr that a broker is gone, also when a test has just stopped it.
QUIET = {"log_level": 0}
T = TypeVar("T")


class Record(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None


class Found(NamedTuple):
    offset: int
    record: Record


class Client(Protocol):
    name: str
    sends_null: bool
    """Whether it can send a record with neither key nor value, and headers without values; Kafka knows all of these."""

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int | None = 0,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        """Sends records; returns where each went: (partition, offset)."""

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Found]:
        """Exactly ``count`` records from ``offset`` on."""


class Librdkafka:
    name = "librdkafka"
    sends_null = True

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int | None = 0,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        config = {**QUIET, "bootstrap.servers": bootstrap, "compression.type": codec, "acks": acks, "enable.idempotence": idempotent}
        # The Java producer's partitioner; librdkafka's own default hashes otherwise.
        producer = Producer({**config, "message.max.bytes": 10_000_000, "partitioner": "murmur2_random", "linger.ms": 1})
        went: dict[int, tuple[int, int]] = {}

        def delivered(number: int, error: KafkaError | None, message: LibrdkafkaMessage) -> None:
            if error is not None:
                raise KafkaException(error)
            went[number] = (number_of(message.partition()), number_of(message.offset()))

        for number, record in enumerate(records):
            options: dict[str, Any] = {} if partition is None else {"partition": partition}
            if record.timestamp is not None:
                options["timestamp"] = record.timestamp
            producer.produce(
                topic,
                record.value,
                record.key,
                headers=list(record.headers) or None,
                on_delivery=partial(delivered, number),
                **options,
            )
        assert producer.flush(PATIENCE_SECONDS) == 0, "not everything was delivered"
        return [went[number] for number in range(len(records))]

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Found]:
        consumer = librdkafka_consumer(bootstrap)
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            found: list[Found] = []
            while len(found) < count:
                message = consumer.poll(PATIENCE_SECONDS)
                assert message is not None, f"{len(found)} of {count} records came"
                if message.error() is not None:
                    raise KafkaException(message.error())
                headers: Any = tuple(message.headers() or ())
                found.append(Found(number_of(message.offset()), Record(message.key(), message.value(), headers, message.timestamp()[1])))
            return found
        finally:
            consumer.close()


def number_of(number: int | None) -> int:
    """None is the offset of a message without an acknowledgement."""
    return -1 if number is None else number


def error_code(message: LibrdkafkaMessage | None) -> int:
    """The code of a message that reports an error, which librdkafka returns in the place of a
    record."""
    assert message is not None, "neither a record nor an error came"
    error = message.error()
    assert error is not None, "a record came in place of an error"
    return int(error.code())


def librdkafka_consumer(bootstrap: str, **config: Any) -> Consumer:
    """Underscores stand for dots. The client requires the group's name and never sends it to a
    broker."""
    return Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "fetch.error.backoff.ms": 20,
            "check.crcs": True,
            **{name.replace("_", "."): value for name, value in config.items()},
        }
    )


class KafkaPython:
    name = "kafka-python"
    sends_null = False

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int | None = 0,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            max_request_size=10_000_000,
            linger_ms=1,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    record.value,
                    record.key,
                    headers=list(record.headers),
                    partition=partition,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            producer.flush(PATIENCE_SECONDS)
            sent = [future.get(PATIENCE_SECONDS) for future in futures]
            return [(each.partition, each.offset) for each in sent]
        finally:
            producer.close()

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Found]:
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, check_crcs=True, consumer_timeout_ms=PATIENCE_SECONDS * 1000)
        try:
            assigned = KafkaPythonPartition(topic, partition)
            consumer.assign([assigned])
            consumer.seek(assigned, offset)
            found: list[Found] = []
            for message in consumer:
                found.append(Found(message.offset, Record(message.key, message.value, tuple(message.headers), message.timestamp)))
                if len(found) == count:
                    return found
            raise AssertionError(f"{len(found)} of {count} records came")
        finally:
            consumer.close()


class AioKafka:
    name = "aiokafka"
    sends_null = False

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int | None = 0,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> list[tuple[int, int]]:
        return run(self._produce(bootstrap, topic, records, partition=partition, codec=codec, acks=acks, idempotent=idempotent))

    async def _produce(
        self, bootstrap: str, topic: str, records: Sequence[Record], *, partition: int | None, codec: str, acks: str, idempotent: bool
    ) -> list[tuple[int, int]]:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            max_request_size=10_000_000,
            linger_ms=1,
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    topic,
                    record.value,
                    record.key,
                    partition=partition,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers),
                )
                for record in records
            ]
            sent = await asyncio.gather(*futures)
            return [(each.partition, each.offset) if each is not None else (-1, -1) for each in sent]
        finally:
            await producer.stop()

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Found]:
        return run(self._consume(bootstrap, topic, count, partition=partition, offset=offset))

    async def _consume(self, bootstrap: str, topic: str, count: int, *, partition: int, offset: int) -> list[Found]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None, check_crcs=True)
        await consumer.start()
        try:
            assigned = AioKafkaPartition(topic, partition)
            consumer.assign([assigned])
            consumer.seek(assigned, offset)
            found: list[Found] = []
            while len(found) < count:
                message = await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)
                found.append(Found(message.offset, Record(message.key, message.value, tuple(message.headers), message.timestamp)))
            return found
        finally:
            await consumer.stop()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 2 * PATIENCE_SECONDS))


CLIENTS: tuple[Client, ...] = (Librdkafka(), KafkaPython(), AioKafka())
