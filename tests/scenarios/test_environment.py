"""An environment full of variables that begin with ``KAFKA_`` and are meant for other programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.config.environment import START_SCRIPT_VARIABLES
from barnabas.devcluster.development import development_properties
from barnabas.devcluster.development_cluster import DevelopmentCluster
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import Client
from tests.unit.config.test_environment import SERVICE_LINKS
from tests.waiting import PATIENCE_SECONDS

DEFAULT_PARTITIONS = -1
UNKNOWN = {
    "KAFKA_TOPIC": "orders",
    "KAFKA_BOOTSTRAP_SERVERS": "kafka:9092",
    "KAFKA_USERNAME": "app",
    "KAFKA_NUM_PARTITON": "3",
    "KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181",
}
NOT_SETTINGS = {**UNKNOWN, **SERVICE_LINKS, **dict.fromkeys(START_SCRIPT_VARIABLES, "-Xmx1g")}


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with variables of all kinds; one of them is a setting."""
    for name, value in {**NOT_SETTINGS, "KAFKA_NUM_PARTITIONS": "5"}.items():
        monkeypatch.setenv(name, value)


def partitions_by_default(bootstrap: str, data_dir: Path) -> int:
    """How many partitions a topic gets that does not say how many."""
    with Client(bootstrap) as client:
        client.create_topic("t", DEFAULT_PARTITIONS)
        client.produce("t", [b"x"])
        assert client.values("t") == [b"x"]
    return len(list(data_dir.glob("t-*")))


@contextmanager
def server(data_dir: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``barnabas server``, ready, and its bootstrap address."""
    properties = development_properties(data_dir=str(data_dir))
    ensure_formatted(parse_settings(properties))
    overrides = [part for name, value in properties.items() for part in ("--override", f"{name}={value}")]
    command = [sys.executable, "-m", "barnabas", "server", *options, *overrides]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready "), process.communicate(timeout=PATIENCE_SECONDS)
        yield process, dict(word.split("=", 1) for word in line.split()[1:])["bootstrap"]
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def events_until_stopped(process: subprocess.Popen[str]) -> list[dict[str, object]]:
    process.terminate()
    _, logged = process.communicate(timeout=PATIENCE_SECONDS)
    return [json.loads(line) for line in logged.splitlines()]


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("process", [False, True])
def test_a_broker_of_a_test_takes_nothing_from_the_environment(tmp_path: Path, process: bool) -> None:
    with EmbeddedBroker(process=process, data_dir=tmp_path) as kafka:
        assert partitions_by_default(kafka.bootstrap, tmp_path) == 1
        assert kafka.complaints == ""


@pytest.mark.usefixtures("crowded")
def test_the_nodes_of_a_development_cluster_take_nothing_from_the_environment(tmp_path: Path) -> None:
    lines: list[str] = []
    cluster = DevelopmentCluster(2, data_dir=tmp_path, overrides={"default.replication.factor": "2"}, on_line=lines.append)
    cluster.start()
    try:
        with Client(cluster.addresses[0]) as client:
            client.create_topic("t", DEFAULT_PARTITIONS)
        assert [each.name for each in (tmp_path / "node-1").glob("t-*")] == ["t-0"]
    finally:
        cluster.stop()
    assert "environment" not in "".join(lines)


@pytest.mark.usefixtures("crowded")
def test_a_server_takes_settings_and_warns_once_about_names_it_does_not_know(tmp_path: Path) -> None:
    with server(tmp_path) as (process, bootstrap):
        assert partitions_by_default(bootstrap, tmp_path) == 5
        events = [event for event in events_until_stopped(process) if "environment" in str(event["event"])]
    info, warning = events
    assert (info["level"], info["variables"]) == ("info", sorted(START_SCRIPT_VARIABLES))
    assert warning["level"] == "warning"
    assert warning["variables"] == [
        "KAFKA_BOOTSTRAP_SERVERS",
        "KAFKA_NUM_PARTITON (did you mean KAFKA_NUM_PARTITIONS?)",
        "KAFKA_TOPIC",
        "KAFKA_USERNAME",
        "KAFKA_ZOOKEEPER_CONNECT (a setting of Kafka 3)",
    ]


@pytest.mark.usefixtures("crowded")
def test_a_server_without_environment_takes_no_settings_from_it(tmp_path: Path) -> None:
    with server(tmp_path, "--no-environment") as (process, bootstrap):
        assert partitions_by_default(bootstrap, tmp_path) == 1
        assert not [event for event in events_until_stopped(process) if "environment" in str(event["event"])]
