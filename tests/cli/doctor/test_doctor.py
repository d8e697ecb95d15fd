"""``barnabas doctor``: alone, with the configuration of a node, and with a running cluster."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.doctor.directories import directory
from barnabas.cli.doctor.finding import State, ok, run_check
from barnabas.cli.doctor.installed import java, java_version
from barnabas.testing import EmbeddedBroker
from peers.ports import free_port
from tests.cli.running import Cli, Finished

NODE = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:9093
log.dirs={directory}
{more}
"""


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith(("KAFKA_", "BARNABAS_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def write(path: Path, *, port: int = 0, directory: Path | None = None, more: str = "") -> Path:
    file = path / "server.properties"
    file.write_text(NODE.format(port=port, directory=directory or path / "data", more=more))
    return file


def findings(done: Finished) -> dict[str, Any]:
    return {each["check"]: each for each in json.loads(done.out)}


def test_every_line_has_a_state_a_check_and_a_fact() -> None:
    done = Cli()("doctor")
    lines = done.out.decode().splitlines()
    assert len(lines) >= 9
    for line in lines:
        assert line.split()[0] in ("ok", "warning", "problem")
        assert ": " in line
        assert line.endswith(".")
    assert done.code == (1 if any(line.startswith("problem") for line in lines) else 0)


def test_json_has_the_same_findings() -> None:
    found = findings(Cli()("doctor", "--json"))
    assert {
        "versions",
        "record scanner",
        "java",
        "spark",
        "descriptors",
        "clock",
        "swapping",
        "environment",
        "port 9092",
        "disk .barnabas/data",
    } == found.keys()
    assert all(each["advice"] for each in found.values() if each["state"] != "ok")


def test_a_valid_configuration_is_checked_with_its_ports_and_directories(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").touch()
    done = Cli()("doctor", "--json", "--config", write(tmp_path, more="barnabas.health.listener=127.0.0.1:0"))
    found = findings(done)
    assert found["configuration"]["state"] == "ok"
    assert found[f"disk {tmp_path / 'data'}"]["state"] in ("ok", "warning")
    assert found["advertised PLAINTEXT"]["state"] == "ok"
    assert done.code == 0


def test_a_taken_port_names_the_process_that_listens(tmp_path: Path, taken: int) -> None:
    found = findings(Cli()("doctor", "--json", "--config", write(tmp_path, port=taken)))
    assert found[f"port {taken}"]["state"] == "warning"
    assert f"process {os.getpid()} " in found[f"port {taken}"]["fact"]


@pytest.mark.parametrize(
    ("more", "check", "word"),
    [
        ("nonsense=1", "configuration", "nonsense"),
        ("advertised.listeners=PLAINTEXT://no.such.host.invalid:9092", "advertised PLAINTEXT", "not a name that this machine knows"),
    ],
)
def test_a_configuration_that_cannot_work_is_a_problem(tmp_path: Path, more: str, check: str, word: str) -> None:
    done = Cli()("doctor", "--json", "--config", write(tmp_path, more=more))
    found = findings(done)
    assert found[check]["state"] == "problem"
    assert word in found[check]["fact"]
    assert found[check]["advice"]
    assert done.code == 1


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    assert "No such file" in Cli()("doctor", "--config", tmp_path / "nothing").complaint


def test_a_directory_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (not_a_directory,) = directory(tmp_path / "file" / "data", formatted=True)
    assert not_a_directory.state is State.PROBLEM
    (not_writable,) = directory(Path("/proc/barnabas"), formatted=True)
    assert not_writable.state is State.PROBLEM
    assert "not writable" in not_writable.fact


def test_variables_are_listed_with_their_effect_and_without_their_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_LOG_DIRS", str(tmp_path / "secret"))
    monkeypatch.setenv("KAFKA_LOG_DIRZ", "secret")
    monkeypatch.setenv("BARNABAS_TYPO", "secret")
    monkeypatch.setenv("BARNABAS_LOG_FORMAT", "json")
    lines = [line for line in Cli()("doctor", "--config", write(tmp_path)).out.decode().splitlines() if "environment:" in line]
    said = "\n".join(lines)
    assert "KAFKA_LOG_DIRS sets log.dirs" in said
    assert "log.dirs of the file is overridden" in said
    assert "KAFKA_LOG_DIRZ" in said
    assert "BARNABAS_TYPO is set, and no command reads it" in said
    assert "BARNABAS_LOG_FORMAT is set: it stands for --log-format" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no idea", None),
    ],
)
def test_the_version_of_java_is_read_from_its_own_words(said: str, number: int | None) -> None:
    assert java_version(said) == number


def test_a_java_that_is_missing_or_too_old_says_what_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (missing,) = java()
    assert (missing.state, "JAVA_HOME" in missing.fact) == (State.WARNING, True)
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'java version \"1.8.0\"' >&2\n")
    program.chmod(0o755)
    (old,) = java()
    assert (old.state, "Java 8" in old.fact) == (State.PROBLEM, True)


def test_a_check_that_hangs_or_fails_is_a_finding() -> None:
    never = threading.Event()

    def hangs() -> Any:
        yield ok("first", "fine.")
        never.wait()

    first, late = run_check("disk", hangs, seconds_max=2)
    never.set()
    assert (first.state, late.state, late.check) == (State.OK, State.PROBLEM, "disk")

    def fails() -> Any:
        raise ValueError("a bug")

    (failed,) = run_check("disk", fails)
    assert (failed.state, "a bug" in failed.fact) == (State.WARNING, True)


# -- a running cluster -------------------------------------------------------------------------


def test_a_cluster_that_can_be_reached_is_ok(kafka: EmbeddedBroker) -> None:
    done = Cli()("doctor", "--json", "--bootstrap", kafka.bootstrap)
    found = findings(done)
    assert found["cluster"]["state"] == found["broker 1"]["state"] == found["cluster clock"]["state"] == "ok"
    assert kafka.bootstrap in found["broker 1"]["fact"]
    assert done.code == 0


def test_a_broker_that_advertises_an_address_without_a_listener_is_a_problem() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nowhere = unused.getsockname()[1]
        port = free_port()
        addresses = {"listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0"}
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{nowhere}"}
        with EmbeddedBroker(config={**addresses, **advertised}):
            done = Cli()("doctor", "--json", "--bootstrap", f"127.0.0.1:{port}")
    found = findings(done)
    assert found["broker 1"]["state"] == "problem"
    assert f"127.0.0.1:{nowhere}" in found["broker 1"]["fact"]
    assert "refused" in found["broker 1"]["fact"]
    assert done.code == 1


def test_a_cluster_that_is_not_there_is_a_problem() -> None:
    done = Cli()("doctor", "--json", "--bootstrap", "127.0.0.1:1")
    assert findings(done)["cluster"]["state"] == "problem"
    assert done.code == 1
