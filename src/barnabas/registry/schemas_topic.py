"""The topic ``_schemas``: the registry's only memory, in any Kafka cluster.

A reader replays the topic into the state, on every instance. Only the leader writes. Its writes are
transactions under one transactional id, so a new leader fences the one before it: a leader that was
replaced without noticing cannot write any more. Confluent's registry and Karapace read such a topic
like any other, and what they wrote is read here. Karapace starts only on a topic that ends with a
record, though, and a transaction ends with a marker: so a leader that stops appends a plain record.

librdkafka blocks, so it runs on threads; the state changes on the event loop only.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.registry.core.entries import Entry, NoopKey, decode
from barnabas.registry.core.errors import schema_too_large, store_failed, timed_out

T = TypeVar("T")

POLL_SECONDS: Final = 0.2
# Records that are handed to the event loop at once: a pause of some milliseconds.
RECORDS_PER_TURN_MAX: Final = 500
# How long a write, or the first read of the whole topic, may take before the caller gets an error.
WRITE_SECONDS_MAX: Final = 30.0
START_SECONDS_MAX: Final = 120.0
# How long the brokers may fail to answer the first questions about the topic, and the pause between
# two attempts.
FIRST_ANSWERS_SECONDS_MAX: Final = 60.0
FIRST_ANSWERS_PAUSE_SECONDS: Final = 0.1
# How long an instance that stops waits for its last record: unreachable brokers must not hold it.
LAST_RECORD_SECONDS_MAX: Final = 3.0
_PARTITION: Final = 0
# librdkafka's own codes, which its binding keeps among private names.
_PARTITION_EOF: Final = -191
_TIMED_OUT: Final = -185
_FENCED: Final = -144


class SchemasTopic:
    def __init__(
        self,
        name: str,
        clients: Mapping[str, Any],
        on_entry: Callable[[Entry], None],
        *,
        replicas: int = 3,
        transactional_id: str | None = None,
    ) -> None:
        """``clients`` are librdkafka's settings. ``on_entry`` is called on the event loop, in the
        order of the topic."""
        self.name = name
        self._clients = dict(clients)
        self._on_entry = on_entry
        self._replicas = replicas
        self._transactional_id = transactional_id or f"barnabas-registry-{name}"
        self._loop = asyncio.get_running_loop()
        self._next_offset = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._stopped = threading.Event()
        self._reader: threading.Thread | None = None
        self._writer: Producer | None = None
        # One thread: a transaction begins after the one before it has ended.
        self._executor = ThreadPoolExecutor(1, "registry-writer")
        self.cluster_id = ""
        """Known after :meth:`start`."""
        self.failure: str | None = None
        """Why the topic cannot be read at the moment, for the health page."""

    # -- reading -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Returns when everything that the topic has now is replayed."""
        await self._loop.run_in_executor(None, self._persistently, self._create)
        end = await self._loop.run_in_executor(None, self._persistently, self._end_offset)
        self._reader = threading.Thread(target=self._read, name="registry-reader", daemon=True)
        self._reader.start()
        try:
            await asyncio.wait_for(self._replayed(end), START_SECONDS_MAX)
        except TimeoutError:
            raise timed_out(f"The topic {self.name} could not be read to its end within {START_SECONDS_MAX:.0f} s") from None

    def _persistently(self, work: Callable[[], T]) -> T:
        """The controller answers that the topic exists before every broker knows it, so the first
        questions about it may fail. So they do while brokers are busy with their own start."""
        deadline = time.monotonic() + FIRST_ANSWERS_SECONDS_MAX
        while True:
            try:
                return work()
            except KafkaException as error:
                if time.monotonic() > deadline:
                    raise store_failed(f"The topic {self.name} cannot be read: {error.args[0].str()}") from None
            self._stopped.wait(FIRST_ANSWERS_PAUSE_SECONDS)

    def _create(self) -> None:
        admin = AdminClient(self._clients)
        metadata = admin.list_topics(timeout=WRITE_SECONDS_MAX)
        cluster_id: object = metadata.cluster_id
        if not isinstance(cluster_id, str):
            raise store_failed("The brokers do not name their cluster.")
        self.cluster_id = cluster_id
        if self.name in metadata.topics and metadata.topics[self.name].error is None:
            partitions = len(metadata.topics[self.name].partitions)
            if partitions != 1:
                raise store_failed(f"The topic {self.name} has {partitions} partitions; the schemas need one with their order.")
            return
        replicas = min(self._replicas, len(metadata.brokers))
        topic = NewTopic(self.name, num_partitions=1, replication_factor=replicas, config={"cleanup.policy": "compact"})
        for future in admin.create_topics([topic], request_timeout=WRITE_SECONDS_MAX).values():
            try:
                future.result(WRITE_SECONDS_MAX)
            except KafkaException as error:
                if error.args[0].retriable():
                    raise
                # Another instance that starts at the same time may be first.
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise store_failed(f"The topic {self.name} cannot be created: {error.args[0].str()}") from None

    def _end_offset(self) -> int:
        consumer = self._consumer()
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(self.name, _PARTITION), timeout=WRITE_SECONDS_MAX)[1])
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                **self._clients,
                # Never joined: the partition is assigned by hand.
                "group.id": f"{self.name}-readers",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )

    def _read(self) -> None:
        consumer = self._consumer()
        consumer.assign([TopicPartition(self.name, _PARTITION, 0)])
        while not self._stopped.is_set():
            first = consumer.poll(POLL_SECONDS)
            # A call for many messages waits until it has them; this one takes those that are there.
            messages = [first, *consumer.consume(RECORDS_PER_TURN_MAX, 0)] if first is not None else []
            entries: list[Entry] = []
            reached, failure = None, None
            for message in messages:
                error = message.error()
                if error is None:
                    entry = decode(message.key() or b"", message.value())
                    if entry is not None:
                        entries.append(entry)
                    reached = (message.offset() or 0) + 1
                elif error.code() == _PARTITION_EOF:
                    # The end, markers of transactions included.
                    reached = message.offset()
                else:
                    failure = error.str()
            if messages:
                self._loop.call_soon_threadsafe(self._replay, entries, reached, failure)
        consumer.close()

    def _replay(self, entries: Sequence[Entry], reached: int | None, failure: str | None) -> None:
        self.failure = failure
        for entry in entries:
            self._on_entry(entry)
        if reached is not None:
            self._next_offset = max(self._next_offset, reached)
        waiting, self._waiting = self._waiting, []
        for offset, future in waiting:
            if offset > self._next_offset:
                self._waiting.append((offset, future))
            elif not future.done():
                future.set_result(None)

    def _replayed(self, end_offset: int) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        if end_offset <= self._next_offset:
            future.set_result(None)
        else:
            self._waiting.append((end_offset, future))
        return future

    # -- writing -----------------------------------------------------------------------------------

    async def become_writer(self) -> None:
        """Fence the writer before this one, and replay everything that it wrote."""
        await self._on_writer(self._open_writer)
        await self.write([Entry(NoopKey(), None)])

    async def write(self, entries: Sequence[Entry]) -> None:
        """Returns when the records are on all in-sync replicas and replayed into the state. Raises
        a RegistryError if they may not be: NothingWritten if they are not, and never will be."""
        last = await self._on_writer(lambda: self._transaction([entry.encode() for entry in entries]))
        try:
            await asyncio.wait_for(self._replayed(last + 1), WRITE_SECONDS_MAX)
        except TimeoutError:
            raise timed_out("The records were written, but could not be read back in time") from None

    async def _on_writer(self, work: Callable[[], Any]) -> Any:
        try:
            return await asyncio.wait_for(self._loop.run_in_executor(self._executor, work), WRITE_SECONDS_MAX * 2)
        except TimeoutError:
            raise timed_out("The brokers did not acknowledge the records in time") from None
        except KafkaException as error:
            if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
                # The transaction is aborted: an abort that fails is another error.
                raise schema_too_large(f"The schema is too large: the topic {self.name} takes no record of this size") from None
            raise store_failed(f"The records could not be written: {error.args[0].str()}") from None

    def _open_writer(self) -> None:
        settings = {"acks": "all", "linger.ms": 0, "transactional.id": self._transactional_id, "transaction.timeout.ms": 30_000}
        self._writer = Producer({**self._clients, **settings})
        self._writer.init_transactions(WRITE_SECONDS_MAX)

    def _transaction(self, records: Sequence[tuple[bytes, bytes | None]]) -> int:
        """The offset of the last record."""
        writer = self._writer
        assert writer is not None, "only the leader writes"
        offsets: list[int] = []
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            offsets.append(message.offset()) if error is None else errors.append(error)

        writer.begin_transaction()
        try:
            for key, value in records:
                writer.produce(self.name, value, key, _PARTITION, on_delivery=delivered)
            writer.flush(WRITE_SECONDS_MAX)
            if errors or len(offsets) < len(records):
                raise KafkaException(errors[0] if errors else KafkaError(_TIMED_OUT))
            writer.commit_transaction(WRITE_SECONDS_MAX)
        except KafkaException as error:
            if error.args[0].code() != _FENCED and not error.args[0].fatal():
                writer.abort_transaction(WRITE_SECONDS_MAX)
            raise
        return max(offsets)

    async def append_last_record(self) -> None:
        """Let the topic end with a record and not with the marker of a transaction. Raises a
        RegistryError."""
        await self._on_writer(self._append_noop)

    def _append_noop(self) -> None:
        errors: list[KafkaError] = []
        producer = Producer({**self._clients, "acks": "all", "linger.ms": 0, "message.timeout.ms": int(LAST_RECORD_SECONDS_MAX * 1_000)})
        key, value = Entry(NoopKey(), None).encode()
        producer.produce(
            self.name, value, key, _PARTITION, on_delivery=lambda error, _: errors.append(error) if error is not None else None
        )
        if producer.flush(LAST_RECORD_SECONDS_MAX) or errors:
            raise KafkaException(errors[0] if errors else KafkaError(_TIMED_OUT))

    async def stop(self) -> None:
        self._stopped.set()
        if self._reader is not None:
            await self._loop.run_in_executor(None, self._reader.join)
        self._executor.shutdown(wait=False)
