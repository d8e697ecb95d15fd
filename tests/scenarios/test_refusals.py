"""Reasons why a node refuses to start: one sentence that names the culprit, exit code 1, and never
a traceback.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.devcluster.development import development_properties
from barnabas.model.cannot_start import CannotStart
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import Client
from tests.waiting import PATIENCE_SECONDS


def refusal(tmp_path: Path, overrides: dict[str, str] | None = None, *, environment: dict[str, str] | None = None) -> str:
    """The sentence with which ``barnabas server`` refuses."""
    properties = development_properties(data_dir=str(tmp_path), overrides=overrides)
    arguments = [part for name, value in properties.items() for part in ("--override", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "server", "--log-level", "ERROR", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("barnabas: ")
    assert line.endswith((".", "?")), "one sentence"
    return line.removeprefix("barnabas: ")


def format_as_new(directory: Path) -> None:
    ensure_formatted(parse_settings(development_properties(data_dir=str(directory))))


@pytest.fixture
def formatted(tmp_path: Path) -> Path:
    format_as_new(tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_that_is_taken_refuses_the_start(formatted: Path, taken: int) -> None:
    sentence = refusal(formatted, {"listeners": f"PLAINTEXT://127.0.0.1:{taken},CONTROLLER://127.0.0.1:0"})
    assert f"127.0.0.1:{taken}" in sentence
    assert "Address already in use" in sentence


def test_an_address_of_another_machine_refuses_the_start(formatted: Path) -> None:
    assert "192.0.2.1" in refusal(formatted, {"listeners": "PLAINTEXT://192.0.2.1:0,CONTROLLER://127.0.0.1:0"})


def test_a_prometheus_port_that_is_taken_refuses_the_start(formatted: Path, taken: int) -> None:
    assert f"127.0.0.1:{taken}" in refusal(formatted, {"barnabas.prometheus.listener": f"127.0.0.1:{taken}"})


def test_a_directory_that_is_not_formatted_refuses_the_start(tmp_path: Path) -> None:
    assert str(tmp_path / "new") in refusal(tmp_path / "new")
    assert "storage format" in refusal(tmp_path / "new")
    assert not (tmp_path / "new").exists(), "nothing was touched"


def test_a_directory_that_another_node_uses_refuses_the_start(formatted: Path) -> None:
    with EmbeddedBroker(process=True, data_dir=formatted) as kafka:
        sentence = refusal(formatted)
        assert str(formatted) in sentence
        assert "in use by another process" in sentence
        with Client(kafka.bootstrap) as client:
            client.probe()


def test_a_directory_that_a_node_of_this_process_uses_refuses_the_start(formatted: Path) -> None:
    with EmbeddedBroker(data_dir=formatted) as kafka, Client(kafka.bootstrap) as client:
        with pytest.raises(CannotStart, match="in use by another process"):
            EmbeddedBroker(data_dir=formatted).start()
        client.probe()


def test_a_directory_of_another_node_refuses_the_start(formatted: Path) -> None:
    sentence = refusal(formatted, {"node.id": "2", "controller.quorum.voters": "2@127.0.0.1:0"})
    assert "belongs to node 1" in sentence
    assert "node.id is 2" in sentence


def test_directories_of_two_clusters_refuse_the_start(tmp_path: Path) -> None:
    for name in ("one", "two"):
        format_as_new(tmp_path / name)
    assert "belongs to cluster" in refusal(tmp_path, {"log.dirs": f"{tmp_path}/one,{tmp_path}/two"})


def test_a_directory_and_its_copy_refuse_the_start(formatted: Path, tmp_path: Path) -> None:
    shutil.copytree(formatted, tmp_path / "copy")
    assert "one is a copy of the other" in refusal(tmp_path, {"log.dirs": f"{formatted},{tmp_path}/copy"})


@pytest.mark.parametrize("text", ["", "version=1\n", "version=9\ncluster.id=x\nnode.id=1\n", "\x00\x01garbage"])
def test_an_unreadable_identity_refuses_the_start(formatted: Path, text: str) -> None:
    (formatted / "meta.properties").write_text(text)
    assert "meta.properties" in refusal(formatted)


def test_an_unreadable_quorum_state_refuses_the_start(formatted: Path) -> None:
    with EmbeddedBroker(data_dir=formatted):
        pass
    (formatted / "__cluster_metadata-0" / "quorum-state").write_text("{")
    assert "quorum-state" in refusal(formatted)


def test_an_unreadable_bootstrap_file_refuses_the_start(formatted: Path) -> None:
    (formatted / "bootstrap.checkpoint").write_bytes(b"nonsense")
    assert "bootstrap.checkpoint" in refusal(formatted)


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        ({"log.retention.hour": "1"}, "log.retention.hour"),
        ({"num.partitions": "few"}, "num.partitions"),
        ({"num.partitions": "0"}, "num.partitions"),
        ({"process.roles": "broker"}, "controller.quorum.voters"),
        ({"listeners": "PLAINTEXT://127.0.0.1:99999,CONTROLLER://127.0.0.1:0"}, "99999"),
        ({"node.id": "-1"}, "node.id"),
    ],
)
def test_an_invalid_setting_refuses_the_start(formatted: Path, overrides: dict[str, str], named: str) -> None:
    assert named in refusal(formatted, overrides)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"KAFKA_NUM_IO_THREADS": "none"}, "num.io.threads"),
        ({"KAFKA_AUTHORIZER_CLASS_NAME": "com.example.Mine"}, "authorizer.class.name"),
        ({"KAFKA_LISTENER_NAME_INSIDE_MAX_CONNECTIONS": "5"}, "a listener that does not exist"),
        ({"KAFKA_LEADER_REPLICATION_THROTTLED_RATE": "5"}, "can only be set on a running broker"),
    ],
)
def test_an_invalid_setting_from_the_environment_is_named_with_its_variable(
    formatted: Path, environment: dict[str, str], named: str
) -> None:
    sentence = refusal(formatted, environment=environment)
    assert sentence.startswith(f"{next(iter(environment))} in the environment: ")
    assert named in sentence


def test_an_overridden_variable_is_not_blamed(formatted: Path) -> None:
    assert "environment" not in refusal(formatted, {"num.partitions": "few"}, environment={"KAFKA_NUM_PARTITIONS": "3"})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--config", "/does/not/exist.properties"], "/does/not/exist.properties"),
        (["--override", "nonsense"], "nonsense"),
        (["--log-level", "LOUD"], "LOUD"),
    ],
)
def test_an_invalid_command_line_refuses_the_start(arguments: list[str], named: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "server", *arguments], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 1
    assert named in done.stderr
    assert "Traceback" not in done.stderr
