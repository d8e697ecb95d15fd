"""The work of a few other rows over TLS, and over TLS with a login.

Each session has a server of its own, because the long-running one has no TLS. Both systems get the
same certificate and the same settings: a key on P-256, TLS 1.3, and PLAIN for the login.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, Row
from bench.rows.librdkafka_consume import MORE_THAN_PRODUCED
from bench.rows.variants import LARGE_VALUE_BYTES, Variant
from bench.systems import Server, System
from bench.topics import new_topic

PROTOCOLS = ("SSL", "SASL_SSL")
VARIANT = Variant(LARGE_VALUE_BYTES, 6)
# One record a request and one request in flight, so that each record waits for its response.
ONE_AT_A_TIME = {"batch.num.messages": "1", "max.in.flight.requests.per.connection": "1", "linger.ms": "0"}
SMALL_VALUE_BYTES = 100
_USER, _PASSWORD = "bench", "bench-password"
_JAAS = (
    f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{_USER}" password="{_PASSWORD}" '
    f'user_{_USER}="{_PASSWORD}";'
)


@contextmanager
def secured_server(system: System, protocol: str) -> Iterator[Server]:
    # Only these rows need the library for certificates.
    from barnabas.devcluster.certificates import CertificateAuthority

    now = datetime.datetime.now(datetime.UTC)
    authority = CertificateAuthority.make("bench", now=now)
    issued = authority.issue("node", ["localhost", "127.0.0.1"], now=now)
    with tempfile.TemporaryDirectory(prefix="bench-tls-") as directory:
        keys, trusted = Path(directory, "node.pem"), Path(directory, "ca.pem")
        keys.write_text(issued.key_pem + issued.chain_pem)
        trusted.write_text(authority.certificate_pem)
        settings = {
            "listener.security.protocol.map": f"PLAINTEXT:{protocol},CONTROLLER:PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted),
        }
        client = {"security.protocol": protocol, "ssl.ca.location": str(trusted)}
        if protocol == "SASL_SSL":
            settings |= {
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.plaintext.plain.sasl.jaas.config": _JAAS,
            }
            client |= {"sasl.mechanism": "PLAIN", "sasl.username": _USER, "sasl.password": _PASSWORD}
        with system.fresh_server(settings) as server:
            server.client = client
            server.await_port()
            yield server


def _load(server: Server, command: str, topic: str, *, value_bytes: int, records: int, **properties: str) -> dict[str, float]:
    return programs.librdkafka_load(
        command,
        bootstrap=server.bootstrap,
        topic=topic,
        partitions=VARIANT.partitions,
        value_bytes=value_bytes,
        records=records,
        properties={**server.client, **properties},
    )


@dataclass(frozen=True, slots=True)
class SecuredProduce:
    protocol: str
    family = "secured produce"
    about = "The work of librdkafka produce over TLS, without and with a login, on a server of its own."

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(f"{self.family}, {self.protocol}, {VARIANT}", "MB/s", Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        records = VARIANT.records(effort.megabytes(VARIANT.value_bytes))
        with secured_server(system, self.protocol) as server:

            def measure() -> tuple[float, ...]:
                with new_topic(server, VARIANT.partitions) as topic:
                    took = _load(server, "produce", topic, value_bytes=VARIANT.value_bytes, records=records)
                return (took["records"] * VARIANT.value_bytes / took["seconds"] / 1e6,)

            yield measure


@dataclass(frozen=True, slots=True)
class SecuredConsume:
    protocol: str
    family = "secured consume"
    about = "The work of librdkafka consume over TLS, without and with a login, on a server of its own."

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(f"{self.family}, {self.protocol}, {VARIANT}", "MB/s", Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        records = VARIANT.records(effort.megabytes(VARIANT.value_bytes) * MORE_THAN_PRODUCED)
        with secured_server(system, self.protocol) as server, new_topic(server, VARIANT.partitions) as topic:
            _load(server, "produce", topic, value_bytes=VARIANT.value_bytes, records=records)

            def measure() -> tuple[float, ...]:
                took = _load(server, "consume", topic, value_bytes=VARIANT.value_bytes, records=records)
                return (took["records"] * VARIANT.value_bytes / took["seconds"] / 1e6,)

            yield measure


@dataclass(frozen=True, slots=True)
class SecuredSmallRequests:
    protocol: str
    family = "secured small requests"
    about = (
        "librdkafka sends one record of 100 bytes in each request and has one request in flight on its only connection (acks=all), "
        "over TLS, without and with a login."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(f"{self.family}, {self.protocol}", "requests/s", Better.HIGHER, Goal(1.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with secured_server(system, self.protocol) as server, new_topic(server, VARIANT.partitions) as topic:

            def measure() -> tuple[float, ...]:
                records = effort.latency_records * 5
                took = _load(server, "produce", topic, value_bytes=SMALL_VALUE_BYTES, records=records, **ONE_AT_A_TIME)
                return (took["records"] / took["seconds"],)

            yield measure


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


ROWS: tuple[Row, ...] = (
    *(SecuredProduce(protocol) for protocol in PROTOCOLS),
    *(SecuredConsume(protocol) for protocol in PROTOCOLS),
    *(SecuredSmallRequests(protocol) for protocol in PROTOCOLS),
    Handshakes(),
)
