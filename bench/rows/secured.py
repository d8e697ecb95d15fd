"""The work of a few other rows over TLS, and over TLS with a login.

Each session has a server of its own (:mod:`bench.secured_server`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, Row
from bench.rows.librdkafka_consume import MORE_THAN_PRODUCED
from bench.rows.variants import LARGE_VALUE_BYTES, SMALL_VALUE_BYTES, Variant
from bench.secured_server import PROTOCOLS, secured_server
from bench.systems import Server, System
from bench.topics import new_topic

VARIANT = Variant(LARGE_VALUE_BYTES, 6)
# One record a request and one request in flight, so that each record waits for its response.
ONE_AT_A_TIME = {"batch.num.messages": "1", "max.in.flight.requests.per.connection": "1", "linger.ms": "0"}


@dataclass(frozen=True, slots=True)
class Secured:
    """One kind of work over one protocol."""

    family: str
    about: str
    unit: str
    protocol: str
    # Prepares a server, and yields the function that measures once.
    prepared: Callable[[Server, Effort], AbstractContextManager[Callable[[], float]]]
    variant: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(f"{self.family}, {self.protocol}{self.variant}", self.unit, Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with secured_server(system, self.protocol) as server, self.prepared(server, effort) as measure:
            yield lambda: (measure(),)


def load(server: Server, command: str, topic: str, *, value_bytes: int, records: int, **properties: str) -> float:
    """Records a second."""
    took = programs.librdkafka_load(
        command,
        bootstrap=server.bootstrap,
        topic=topic,
        partitions=VARIANT.partitions,
        value_bytes=value_bytes,
        records=records,
        properties={**server.client, **properties},
    )
    return took["records"] / took["seconds"]


def small_requests(server: Server, topic: str, effort: Effort, **properties: str) -> float:
    records = effort.latency_records * 5
    return load(server, "produce", topic, value_bytes=SMALL_VALUE_BYTES, records=records, **ONE_AT_A_TIME, **properties)


@contextmanager
def _producing(server: Server, effort: Effort) -> Iterator[Callable[[], float]]:
    def measure() -> float:
        with new_topic(server, VARIANT.partitions) as topic:
            return _megabytes(server, "produce", topic, effort.megabytes(VARIANT.value_bytes))

    yield measure


@contextmanager
def _consuming(server: Server, effort: Effort) -> Iterator[Callable[[], float]]:
    megabytes = effort.megabytes(VARIANT.value_bytes) * MORE_THAN_PRODUCED
    with new_topic(server, VARIANT.partitions) as topic:
        _megabytes(server, "produce", topic, megabytes)
        yield lambda: _megabytes(server, "consume", topic, megabytes)


@contextmanager
def _asking(server: Server, effort: Effort) -> Iterator[Callable[[], float]]:
    with new_topic(server, VARIANT.partitions) as topic:
        yield lambda: small_requests(server, topic, effort)


def _megabytes(server: Server, command: str, topic: str, megabytes: float) -> float:
    """MB/s."""
    rate = load(server, command, topic, value_bytes=VARIANT.value_bytes, records=VARIANT.records(megabytes))
    return rate * VARIANT.value_bytes / 1e6


@dataclass(frozen=True, slots=True)
class Handshakes:
    family = "TLS handshakes"
    about = "`openssl s_time` makes one new connection after the other, each with a full handshake, and sends nothing."

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(self.family, "handshakes/s", Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_handshakes()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with secured_server(system, "SSL") as server:
            yield lambda: (programs.handshakes(port=server.port, seconds=max(2, round(effort.closed_loop_seconds))),)


_ABOUT_SMALL_REQUESTS = (
    "librdkafka sends one record of 100 bytes in each request and has one request in flight on its only connection (acks=all), "
    "over TLS, without and with a login."
)
_KINDS = (
    (
        "secured produce",
        "The work of librdkafka produce over TLS, without and with a login, on a server of its own.",
        "MB/s",
        _producing,
        f", {VARIANT}",
    ),
    (
        "secured consume",
        "The work of librdkafka consume over TLS, without and with a login, on a server of its own.",
        "MB/s",
        _consuming,
        f", {VARIANT}",
    ),
    (
        "secured small requests",
        _ABOUT_SMALL_REQUESTS,
        "requests/s",
        _asking,
        "",
    ),
)

ROWS: tuple[Row, ...] = (
    *(
        Secured(family, about, unit, protocol, prepared, variant)
        for family, about, unit, prepared, variant in _KINDS
        for protocol in PROTOCOLS
    ),
    Handshakes(),
)
