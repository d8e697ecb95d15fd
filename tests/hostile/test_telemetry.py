"""Clients that push metrics to fill memory, to block the loop, or to write on the metrics page."""

from __future__ import annotations

import os
import random
from itertools import count

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.client_metrics.core.client_series import SERIES_MAX, SERIES_OF_INSTANCE_MAX
from barnabas.client_metrics.core.otlp_fields import bytes_field
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.records.compression import Codec, compress
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest
from tests.hostile.conftest import Victim
from tests.hostile.test_resources import BYSTANDER_SECONDS_MAX, Bystander
from tests.otlp import counter, gauge, metrics_data
from tests.scenarios.client import Client, frame_of

MEGABYTE = 1024 * 1024
# More than the broker decompresses: 16 times telemetry.max.bytes.
BOMB_BYTES = 64 * MEGABYTE
TOO_LARGE, INVALID = ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.INVALID_RECORD
_numbers = count(int.from_bytes(os.urandom(4)) << 32)


def push(client: Client, data: bytes, codec: int = 0) -> ErrorCode:
    """From a new client instance, because each may push once in five minutes."""
    instance = Uuid((next(_numbers) | 1 << 120).to_bytes(16))
    subscription = client.ask(GetTelemetrySubscriptionsRequest(client_instance_id=instance)).subscription_id
    pushed = PushTelemetryRequest(
        client_instance_id=instance, subscription_id=subscription, terminating=False, compression_type=codec, metrics=data
    )
    return ErrorCode(client.ask(pushed).error_code)


def as_scope(metrics: bytes) -> bytes:
    return bytes_field(1, bytes_field(2, metrics))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_of_any_codec_is_too_large(victim: Victim, codec: Codec) -> None:
    # Snappy and lz4 shrink zeros too little for 64 MB to fit into one megabyte.
    size = {Codec.SNAPPY: 20 * MEGABYTE}.get(codec, BOMB_BYTES)
    bomb = compress(codec, bytes(size))
    assert len(bomb) <= MEGABYTE
    with victim.client() as client, Bystander(victim) as seen:
        for _ in range(5):
            assert push(client, bomb, codec) == TOO_LARGE
    assert seen.worst < BYSTANDER_SECONDS_MAX


@pytest.mark.parametrize(
    "data",
    [
        as_scope(bytes_field(2, b"") * (7 * MEGABYTE)),
        bytes_field(1, b"") * (7 * MEGABYTE),
        as_scope(bytes_field(2, bytes_field(5, bytes_field(1, b"") * (7 * MEGABYTE)))),
        b"\x78\x01" * (7 * MEGABYTE),
    ],
    ids=["metrics", "resources", "points", "unknown fields"],
)
def test_millions_of_tiny_parts_are_too_large_and_bystanders_are_served(victim: Victim, data: bytes) -> None:
    bomb = compress(Codec.ZSTD, data)
    with victim.client() as client, Bystander(victim) as seen:
        assert push(client, bomb, Codec.ZSTD) == TOO_LARGE
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_metrics_that_nest_a_hundred_thousand_times_are_read_at_once(victim: Victim) -> None:
    value = b""
    for _ in range(20_000):
        value = bytes_field(5, bytes_field(1, value))
    point = bytes_field(7, bytes_field(1, b"deep") + bytes_field(2, value)) + b"\x21" + bytes(8)
    metric = bytes_field(1, b"nested") + bytes_field(5, bytes_field(1, point))
    with victim.client() as client:
        assert push(client, as_scope(bytes_field(2, metric))) == ErrorCode.NONE
    assert "client_nested" in victim.metrics_page()


def test_truncated_and_mutated_metrics_are_refused_or_read(victim: Victim) -> None:
    chance = random.Random(714)
    good = metrics_data(gauge("g", 1.5, topic="t"), counter("c", 3), resource={"a": "b"}).SerializeToString()
    with victim.client() as client:
        for _ in range(300):
            changed = bytearray(good)
            for _ in range(chance.randrange(4)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            assert push(client, bytes(changed[: chance.randrange(1, len(good) + 1)])) in (ErrorCode.NONE, INVALID, TOO_LARGE)


def test_a_client_writes_no_lines_families_or_labels_of_its_own_on_the_page(victim: Victim) -> None:
    injected = 'x"} 1\nforged_line 1\n# TYPE forged_family counter\n'
    hostile = [
        gauge(injected, 1.0),
        gauge("barnabas_requests_total", 1e9, api="Produce"),
        counter("barnabas_requests_total", 10**9, api="Produce"),
        gauge("process_resident_memory_bytes", -1.0),
        gauge("org.apache.kafka.labels", 1.0, **{injected: "x", "__name__": "forged_name", "client_id": "forged", "topic": injected}),
    ]
    with victim.client() as client:
        assert push(client, metrics_data(*hostile, resource={"group_id": injected}).SerializeToString()) == ErrorCode.NONE
    page = victim.metrics_page()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    names = {name for family in families.values() for name in (family.name, *(sample.name for sample in family.samples))}
    assert all(name.startswith(("barnabas_", "process_", "org_apache_kafka_", "client_")) for name in names)
    assert not any(sample.value == 1e9 for sample in families["barnabas_requests"].samples)
    assert families["process_resident_memory_bytes"].samples[0].value > 0
    (sample,) = families["org_apache_kafka_labels"].samples
    assert sample.labels["client_id"] == "test"
    assert sample.labels["topic"] == injected
    assert any(sample.labels["group_id"] == injected for sample in families["barnabas_client_info"].samples)


def test_huge_labels_and_client_ids_stay_off_the_page(victim: Victim) -> None:
    with victim.client() as client:
        metrics = [gauge("huge", 1.0, a="x" * 100_000), gauge("huge" * 10_000, 1.0)]
        assert push(client, metrics_data(*metrics, resource={"group_id": "x" * 100_000}).SerializeToString()) == ErrorCode.NONE
    page = victim.metrics_page()
    assert "huge" not in page
    assert max(map(len, page.splitlines())) < 10_000


def test_thousands_of_instances_with_long_client_ids_cost_little_memory(victim: Victim) -> None:
    before = victim.memory_bytes()
    asking = frame_of(GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID), 0, client_id="x" * 32_000)
    with victim.client() as client:
        for _ in range(60):
            client.send_bytes(asking * 50)
            for _ in range(50):
                client.receive_frame()
    # With their whole client ids these 3,000 would take 96 MB.
    assert victim.memory_bytes() - before < 32 * MEGABYTE


def test_a_flood_of_series_fills_the_page_up_to_its_limit(victim: Victim) -> None:
    many = metrics_data(*(gauge(f"flood.{number}", 1.0) for number in range(SERIES_OF_INSTANCE_MAX + 100))).SerializeToString()
    with victim.client() as client, Bystander(victim) as seen:
        for _ in range(SERIES_MAX // SERIES_OF_INSTANCE_MAX + 2):
            assert push(client, compress(Codec.ZSTD, many), Codec.ZSTD) == ErrorCode.NONE
    assert seen.worst < BYSTANDER_SECONDS_MAX
    page = victim.metrics_page()
    assert sum(line.startswith("client_flood") for line in page.splitlines()) <= SERIES_MAX
    shown = next(line for line in page.splitlines() if line.startswith("barnabas_client_metrics_series "))
    assert float(shown.split()[1]) <= SERIES_MAX
    dropped = next(line for line in page.splitlines() if line.startswith('barnabas_client_metrics_dropped_total{reason="limit"}'))
    assert float(dropped.split()[1]) >= 100
