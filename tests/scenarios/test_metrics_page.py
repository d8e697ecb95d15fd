"""The page that Prometheus scrapes, of a node that has done some work."""

from __future__ import annotations

import gzip
import json
import platform
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families

from barnabas import __version__
from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.telemetry.catalogue import (
    AUTHENTICATIONS,
    CATALOGUE,
    CLIENT_INFO,
    CLIENT_METRICS_FORWARDED,
    CLIENT_METRICS_NOT_FORWARDED,
    DIRECTORY_FULL,
    EXPIRED_CONNECTIONS_KILLED,
    GROUP_LAG_RECORDS,
    GROUP_LAG_SECONDS,
    REMOTE_AUX_STATE_ERRORS,
    REMOTE_AUX_STATES,
    REMOTE_COPY_ERRORS,
    REMOTE_DELETE_ERRORS,
    REMOTE_FETCH_ERRORS,
    REMOTE_FETCHES_EXPIRED,
    RESPONSE_ERRORS,
)
from barnabas.testing import EmbeddedBroker
from peers.ports import free_port
from tests.scenarios.client import Client
from tests.scenarios.tiered.tiered_broker import (
    EARLIEST,
    EARLIEST_LOCAL,
    RECORDS_PER_SEGMENT,
    SEGMENT_BYTES,
    TIERED,
    fill,
    tiered_broker,
)
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def watched(port: int) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"barnabas.prometheus.listener": f"127.0.0.1:{port}"}) as kafka:
        yield kafka


def read_page(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


def test_work_is_counted(watched: EmbeddedBroker, port: int) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t", 2)
        for number in range(5):
            client.produce("t", [b"x", b"y"])
            client.fetch("t", offset=number)
        page = read_page(port)
    assert page['barnabas_topic_records_in_total{topic="t"}'] == 10
    assert page['barnabas_topic_bytes_in_total{topic="t"}'] > 300
    assert page['barnabas_topic_bytes_out_total{topic="t"}'] > 300
    assert page['barnabas_requests_total{api="Produce"}'] == 5
    assert page['barnabas_request_seconds_count{api="Fetch"}'] == 5
    assert page["barnabas_partitions"] == page["barnabas_partitions_led"] == 2
    assert page["barnabas_partitions_offline"] == page["barnabas_log_directories_offline"] == 0
    assert page['barnabas_connections{listener="PLAINTEXT"}'] == 1
    assert page['barnabas_network_bytes_in_total{listener="PLAINTEXT"}'] > 500
    assert page["barnabas_controller_active"] == 1
    assert page["barnabas_metadata_offset"] > 3


def test_errors_are_counted_by_api_and_code(watched: EmbeddedBroker, port: int) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t", 1)
        assert client.fetch("t", offset=7).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        page = read_page(port)
    assert page['barnabas_response_errors_total{api="Fetch",error="OFFSET_OUT_OF_RANGE"}'] == 1
    assert not [name for name in page if "response_errors" in name and 'api="Produce"' in name]


def test_the_page_names_the_process_and_its_version(watched: EmbeddedBroker, port: int) -> None:
    page = read_page(port)
    (build,) = [name for name in page if name.startswith("barnabas_build_info")]
    assert f'version="{__version__}"' in build
    assert f'python="{platform.python_version()}"' in build
    assert page["process_resident_memory_bytes"] > 1_000_000
    assert page["process_cpu_seconds_total"] > 0
    assert 0 < page["process_open_fds"] < page["process_max_fds"]


@pytest.mark.parametrize(
    ("accept", "parse"),
    [
        ("text/plain", text_string_to_metric_families),
        ("application/openmetrics-text; version=1.0.0", openmetrics_string_to_metric_families),
    ],
)
def test_parsers_of_both_formats_accept_the_page(
    watched: EmbeddedBroker, port: int, accept: str, parse: Callable[[str], Iterator[Any]]
) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t", 2)
        client.produce("t", [b"x"])
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept, "Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        families = {family.name: family for family in parse(gzip.decompress(answer.read()).decode())}
    for metric in CATALOGUE:
        family = families.get(metric.name.removesuffix("_total"))
        if family is not None:
            assert (family.type, family.documentation) == (metric.kind.value, metric.doc) or metric.name.startswith("process_")
    assert len(families) > 40


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_probes_are_on_the_same_port(watched: EmbeddedBroker, port: int, path: str) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_SECONDS) as answer:
        assert json.load(answer)["status"] in ("alive", "ready")


def test_a_deleted_topic_leaves_the_page(watched: EmbeddedBroker, port: int) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"x"])
        client.delete_topic("t")
        assert not [name for name in read_page(port) if 'topic="t"' in name]


def test_the_page_ends_with_the_node(watched: EmbeddedBroker, port: int) -> None:
    read_page(port)
    watched.stop()
    with pytest.raises(OSError, match="refused"):
        read_page(port)
    watched.start()
    read_page(port)


# Counted only after a failure, or in a cluster of several nodes.
TROUBLES = {
    DIRECTORY_FULL,
    REMOTE_COPY_ERRORS,
    REMOTE_FETCH_ERRORS,
    REMOTE_FETCHES_EXPIRED,
    REMOTE_DELETE_ERRORS,
    REMOTE_AUX_STATES,
    REMOTE_AUX_STATE_ERRORS,
}


@pytest.fixture
def used(port: int, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A node that has deleted and compacted segments, and has some in remote storage, from which it
    has read and deleted."""
    quick = {"log_cleaner_backoff_ms": "50", "log_cleaner_min_cleanable_ratio": "0.01", "barnabas_prometheus_listener": f"127.0.0.1:{port}"}
    with tiered_broker(tmp_path, process=False, **quick) as kafka, Client(kafka.bootstrap) as client:
        small = {"segment.bytes": str(SEGMENT_BYTES)}
        client.create_topic("short", 1, {**small, "retention.bytes": str(SEGMENT_BYTES)})
        client.create_topic("table", 1, {**small, "cleanup.policy": "compact"})
        client.create_topic("tiered", 1, {**TIERED, "retention.bytes": str(3 * SEGMENT_BYTES)})
        fill(client, "short", 3)
        for _ in range(3):
            client.produce_batch("table", 0, build_batch([Record(0, int(time.time() * 1000), b"key", bytes(600_000))]))
        fill(client, "tiered", 6)
        until(lambda: client.end_offset("tiered", timestamp=EARLIEST) >= 2 * RECORDS_PER_SEGMENT, "all that has expired is deleted")
        until(lambda: _read_remotely(client), "remote segments are read")
        yield kafka


def _read_remotely(client: Client) -> bool:
    """The start moves while segments expire."""
    start, local = (client.end_offset("tiered", timestamp=each) for each in (EARLIEST, EARLIEST_LOCAL))
    return start < local and bool(client.fetch("tiered", offset=start).records)


def test_everything_in_the_catalogue_is_on_the_page_of_a_node_that_was_used(used: EmbeddedBroker, port: int) -> None:
    # The log begins later as soon as remote segments have expired, and they are deleted after that.
    done = {
        "barnabas_retention_bytes_total": SEGMENT_BYTES,
        "barnabas_cleaner_bytes_reclaimed_total": 500_000,
        'barnabas_remote_copy_bytes_total{topic="tiered"}': 3 * SEGMENT_BYTES,
        'barnabas_remote_delete_bytes_total{topic="tiered"}': 0,
    }

    def cleaned() -> bool:
        page = read_page(port)
        return all(page.get(name, 0) > least for name, least in done.items())

    until(cleaned, "segments are deleted, compacted, and deleted from the remote store")
    page = read_page(port)
    names = {name.partition("{")[0] for name in page}
    missing = {metric for metric in CATALOGUE if not any(name.startswith(metric.name) for name in names)}
    # Clients may or may not have met an error by then; there is no group, no quota, no login, no
    # client that pushes metrics, no collector, no schema registry and no supervisor.
    without = {
        CLIENT_INFO,
        CLIENT_METRICS_FORWARDED,
        CLIENT_METRICS_NOT_FORWARDED,
        GROUP_LAG_RECORDS,
        GROUP_LAG_SECONDS,
        AUTHENTICATIONS,
        EXPIRED_CONNECTIONS_KILLED,
        *(metric for metric in CATALOGUE if metric.name.startswith(("barnabas_quota_", "barnabas_schema", "barnabas_process_"))),
    }
    assert missing - {RESPONSE_ERRORS} == TROUBLES | without
    assert page["barnabas_log_directories_offline"] == 0
    assert page["barnabas_cleaner_delay_seconds_max"] == 0
    assert page['barnabas_remote_copy_lag_bytes{topic="tiered"}'] >= 0
    assert page['barnabas_remote_fetch_bytes_total{topic="tiered"}'] > 0
