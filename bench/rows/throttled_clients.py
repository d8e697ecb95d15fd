"""How exactly clients with a quota get their rate."""

from __future__ import annotations

import itertools
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.requests import ask
from bench.systems import Server, System
from bench.topics import new_topic

RATE_BYTES = 1_000_000
VALUE_BYTES = 10_000
# The default of quota.window.num. A quota lets a burst of all windows but one pass, and then hardly
# anything until the burst has left the windows, one window later. A response that does not fit into
# the rest of the quota is withheld as a whole, so a consumer stays a little below its rate: 5.8 %
# with these settings, with Apache Kafka as with Barnabas. Only a whole period shows the rate, and
# the first burst, which an idle client gets in addition, does not count.
WINDOWS = 11
MEASURED_SECONDS = float(WINDOWS + 1)
FIRST_BURST_SECONDS = MEASURED_SECONDS / 2
READABLE_BYTES = int(4 * RATE_BYTES * MEASURED_SECONDS)
SECONDS_MAX = 60.0
_ALTER_VERSION = 1

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class ThrottledClients:
    family = "throttled clients get their rate"
    about = (
        f"librdkafka produces and consumes at the same time, each with a quota of {RATE_BYTES / 1e6:g} MB/s over {WINDOWS} "
        f"windows of a second. The bytes of {MEASURED_SECONDS:g} s, after the first burst that a quota allows, are compared with the quota."
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
        with system.fresh_server() as server:
            server.await_port()

            def measure() -> tuple[float, ...]:
                # A new client id for each measurement, because the use of an earlier one is on
                # record.
                client_id = f"throttled-{next(_numbers)}"
                with new_topic(server, 1) as written, new_topic(server, 1) as read:
                    _fill(server, read)
                    _set_quotas(server, client_id, RATE_BYTES)
                    return _run_together(_Producing(server, written, client_id), _Consuming(server, read, client_id))

            yield measure


class _Throttled(ABC):
    """A client that goes on until it is stopped, and counts bytes meanwhile."""

    def __init__(self) -> None:
        self.bytes = 0
        self.stopped = False

    @abstractmethod
    def run(self) -> None: ...


class _Producing(_Throttled):
    def __init__(self, server: Server, topic: str, client_id: str) -> None:
        super().__init__()
        self._topic = topic
        # A short queue, so that the last records do not take long.
        settings = {"bootstrap.servers": server.bootstrap, "client.id": client_id, "acks": "1", "queue.buffering.max.kbytes": 2000}
        self._producer = Producer(settings)

    def run(self) -> None:
        while not self.stopped:
            try:
                self._producer.produce(self._topic, bytes(VALUE_BYTES), on_delivery=self._delivered)
                self._producer.poll(0)
            except BufferError:
                self._producer.poll(0.05)
        self._producer.flush(SECONDS_MAX)

    def _delivered(self, error: object, _: object) -> None:
        self.bytes += VALUE_BYTES if error is None else 0


class _Consuming(_Throttled):
    def __init__(self, server: Server, topic: str, client_id: str) -> None:
        super().__init__()
        self._consumer = Consumer(
            {
                "bootstrap.servers": server.bootstrap,
                "client.id": client_id,
                "group.id": client_id,
                "enable.auto.commit": False,
                # A response that does not fit into the rest of the quota is withheld as a whole, so
                # large ones would leave a part of the quota unused. The last batch of a response is
                # cut off and counts all the same, so small ones would waste a part of it.
                "fetch.message.max.bytes": 400_000,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def run(self) -> None:
        while not self.stopped:
            message = self._consumer.poll(0.1)
            value = None if message is None or message.error() else message.value()
            self.bytes += len(value or b"")
        self._consumer.close()


def _run_together(*clients: _Throttled) -> tuple[float, ...]:
    """By how many percent each client misses its rate."""
    threads = [Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(FIRST_BURST_SECONDS)
    before = [client.bytes for client in clients]
    started = time.perf_counter()
    time.sleep(MEASURED_SECONDS)
    after = [client.bytes for client in clients]
    seconds = time.perf_counter() - started
    for client in clients:
        client.stopped = True
    for thread in threads:
        thread.join(SECONDS_MAX)
    return tuple(abs((last - first) / seconds / RATE_BYTES - 1) * 100 for first, last in zip(before, after, strict=True))


def _fill(server: Server, topic: str) -> None:
    # Small batches, so that little is cut off at the end of a response.
    producer = Producer({"bootstrap.servers": server.bootstrap, "acks": "1", "batch.size": VALUE_BYTES})
    for _ in range(READABLE_BYTES // VALUE_BYTES):
        producer.produce(topic, bytes(VALUE_BYTES))
        producer.poll(0)
    if producer.flush(SECONDS_MAX):
        raise MeasurementFailed("the topic could not be filled")


def _set_quotas(server: Server, client_id: str, rate: float) -> None:
    ops = [OpData(key=key, value=rate, remove=False) for key in ("producer_byte_rate", "consumer_byte_rate")]
    entity = [EntityData(entity_type="client-id", entity_name=client_id)]
    request = AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=ops)], validate_only=False)
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS_MAX) as connection:
        (entry,) = ask(connection, request, _ALTER_VERSION).entries
    if entry.error_code:
        raise MeasurementFailed(f"the quota was refused: {entry.error_message}")


ROWS = (ThrottledClients(),)
