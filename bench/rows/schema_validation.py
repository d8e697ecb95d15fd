"""What the validation of schema ids costs a producer."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.rows.variants import LARGE_VALUE_BYTES, SMALL_VALUE_BYTES, Variant
from bench.systems import ApacheKafka, Server, System
from bench.topics import new_topic

SECONDS_MAX = 30.0
VALIDATED = {"confluent.value.schema.validation": "true"}
VARIANTS = (Variant(LARGE_VALUE_BYTES, 1), Variant(LARGE_VALUE_BYTES, 1, "lz4"), Variant(SMALL_VALUE_BYTES, 1))


@dataclass(frozen=True, slots=True)
class SchemaValidation:
    variant: Variant
    family = "produce with schema ids validated"
    about = (
        "The work of librdkafka produce, with values that begin with the id of a schema, in turns to a topic with "
        "confluent.value.schema.validation and to one without; one registry serves the broker. Apache Kafka has no such setting, so "
        "both of its topics are without."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.variant}"
        # Every byte of a small record costs the broker's interpreter ten times as much.
        small = self.variant.value_bytes < LARGE_VALUE_BYTES
        return (
            Figure(name, "MB/s", Better.HIGHER),
            Figure(f"{name}, beside no validation", "% slower", Better.LOWER, None if small else Goal(ours=20.0)),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        port = _free_port()
        with (
            system.fresh_server({"barnabas.schema.registry.url": f"http://127.0.0.1:{port}"}) as server,
            _registry(server, port),
            new_topic(server, self.variant.partitions) as plain,
            new_topic(server, self.variant.partitions, None if isinstance(system, ApacheKafka) else VALIDATED) as validated,
        ):
            schema_id = _register(port, validated)

            order = [plain, validated]

            def measure() -> tuple[float, ...]:
                # The one that was measured last is measured first, so that a slow minute of the
                # machine affects both.
                order.reverse()
                rates = {topic: self._produce(server, topic, schema_id, effort) for topic in order}
                return rates[validated], max(0.0, (1 - rates[validated] / rates[plain]) * 100)

            yield measure

    def _produce(self, server: Server, topic: str, schema_id: int, effort: Effort) -> float:
        variant = self.variant
        took = programs.librdkafka_load(
            "produce",
            bootstrap=server.bootstrap,
            topic=topic,
            partitions=variant.partitions,
            value_bytes=variant.value_bytes,
            records=variant.records(effort.megabytes(variant.value_bytes)),
            codec=variant.codec,
            properties={"value.schema.id": str(schema_id)},
        )
        return took["records"] * variant.value_bytes / took["seconds"] / 1e6


def _free_port() -> int:
    """The broker must know the registry before the registry can start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _registry(server: Server, port: int) -> Iterator[None]:
    server.await_port()
    command = [sys.executable, "-m", "barnabas", "registry", "-b", server.bootstrap, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready registry="):
            raise MeasurementFailed(f"the registry did not start: {line!r}")
        yield
    finally:
        process.terminate()
        process.wait(SECONDS_MAX)


def _register(port: int, topic: str) -> int:
    response = httpx.post(f"http://127.0.0.1:{port}/subjects/{topic}-value/versions", json={"schema": '"string"'}, timeout=SECONDS_MAX)
    if response.status_code != 200:
        raise MeasurementFailed(response.text)
    return int(response.json()["id"])


ROWS = tuple(SchemaValidation(variant) for variant in VARIANTS)
