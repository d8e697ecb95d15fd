"""Depots: programs that scan parcels and send each scan, in the version of their program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import KafkaException, SerializingProducer

from barnabas.registry_client import RegistryClient
from barnabas.schemas import AvroSerializer
from examples.parcels import first, second

TOPIC = "parcels.scans"
MORNING = datetime(2026, 11, 17, 6, tzinfo=UTC)
PATIENCE_SECONDS = 60.0


def first_scans(depot: str, count: int) -> Iterator[first.Scan]:
    return (first.Scan(f"{depot}-{number}", depot, MORNING + timedelta(seconds=number)) for number in range(count))


def second_scans(depot: str, count: int) -> Iterator[second.Scan]:
    for number in range(count):
        yield second.Scan(f"{depot}-{number}", depot, MORNING + timedelta(seconds=number), weight_grams=500 + number)


class Depot:
    def __init__(self, bootstrap: str, registry: RegistryClient, type_: type[Any]) -> None:
        """The first record registers the schema of ``type_``, or finds it registered."""
        serializer = AvroSerializer(registry, type_, namespace="parcels")
        settings = {"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0}
        self._producer = SerializingProducer({**settings, "value.serializer": serializer})
        self._errors: list[Any] = []

    def send(self, scan: Any) -> None:
        self._producer.produce(TOPIC, key=scan.depot, value=scan, on_delivery=self._delivered)
        self._producer.poll(0)

    def send_all(self, scans: Iterator[Any]) -> None:
        """Returns when all of them are stored. Raises a KafkaException if one is not."""
        for scan in scans:
            self.send(scan)
        if self._producer.flush(PATIENCE_SECONDS) or self._errors:
            raise KafkaException(self._errors[0] if self._errors else "the records were not stored in time")

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self._errors.append(error)


class Shift(threading.Thread):
    """A depot at work beside the others: it sends scans until the shift ends."""

    def __init__(self, depot: Depot, scans: Callable[[str, int], Iterator[Any]], name: str) -> None:
        super().__init__(daemon=True)
        self._depot = depot
        self._scans = scans(name, 1_000_000)
        self._ended = threading.Event()
        self._progress = threading.Condition()
        self.sent = 0
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self._ended.wait(0.002):
                self._depot.send(next(self._scans))
                with self._progress:
                    self.sent += 1
                    self._progress.notify_all()
            self._depot.send_all(iter(()))
        except Exception as failure:  # noqa: BLE001 - the thread that ends the shift raises it
            with self._progress:
                self.failure = failure
                self._progress.notify_all()

    def await_more(self, count: int = 20) -> None:
        """Returns when the depot has sent so many scans more."""
        goal = self.sent + count
        with self._progress:
            self._progress.wait_for(lambda: self.sent >= goal or self.failure is not None, PATIENCE_SECONDS)

    def end(self) -> int:
        """The number of scans, all of which are stored."""
        self._ended.set()
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.sent
