"""``barnabas up --ephemeral``: the cluster of a test in any language, gone with that test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

UP = [sys.executable, "-m", "barnabas", "up", "--ephemeral", "--json"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the children of this test use for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def started(temporary: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(UP, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def ready(process: subprocess.Popen[bytes]) -> dict[str, object]:
    assert process.stdout is not None
    line: dict[str, object] = json.loads(process.stdout.readline())
    return line


def test_it_is_ready_with_one_json_line_and_stops_when_its_input_ends(started: subprocess.Popen[bytes], temporary: Path) -> None:
    line = ready(started)
    assert sorted(line) == ["bootstrap", "cluster", "pids"]
    assert line["pids"] == [started.pid]
    assert not str(line["bootstrap"]).endswith(":9092")
    Cli(str(line["bootstrap"]))("topics", "create", "t").worked()
    assert len(list(temporary.glob("barnabas-*/node-1"))) == 1
    out, _ = started.communicate(timeout=PATIENCE_SECONDS)
    assert (started.returncode, out, list(temporary.iterdir())) == (0, b"", [])


def test_two_signals_and_a_closed_pipe_still_stop_it_cleanly(started: subprocess.Popen[bytes], temporary: Path) -> None:
    ready(started)
    started.send_signal(signal.SIGTERM)
    started.send_signal(signal.SIGTERM)
    started.communicate(timeout=PATIENCE_SECONDS)
    assert (started.returncode, list(temporary.iterdir())) == (0, [])


def test_its_data_is_removed_when_it_is_killed(started: subprocess.Popen[bytes], temporary: Path) -> None:
    ready(started)
    assert list(temporary.iterdir()) != []
    started.kill()
    started.wait()
    until(lambda: not list(temporary.iterdir()), "the directory is removed")


@pytest.mark.parametrize("brokers", [1, 3])
def test_it_ends_with_the_parent_that_was_killed(temporary: Path, brokers: int) -> None:
    """The parent gives it no pipe, and has no time to say anything."""
    script = f"import subprocess; subprocess.run({[*UP, '--brokers', str(brokers)]!r}, stdin=subprocess.DEVNULL)"
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    pids = ready(parent)["pids"]
    assert isinstance(pids, list)
    assert len(pids) == brokers
    parent.kill()
    parent.communicate()
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "all brokers have ended")
    until(lambda: not list(temporary.iterdir()), "the directory is removed")


def test_a_data_directory_cannot_be_given(temporary: Path) -> None:
    refused = Cli()("up", "--ephemeral", "--data-dir", temporary)
    assert refused.complaint == "--ephemeral has a temporary directory of its own, so --data-dir cannot be given with it."
    assert list(temporary.iterdir()) == []


def test_a_port_that_is_taken_leaves_nothing_behind(started: subprocess.Popen[bytes], temporary: Path) -> None:
    port = str(ready(started)["bootstrap"]).rpartition(":")[2]
    second = subprocess.run([*UP, "--port", port], capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    assert second.returncode == 1
    assert b"Address already in use" in second.stderr
    assert len(list(temporary.iterdir())) == 1


def test_with_a_registry_it_prints_a_second_ready_line_and_both_end_together(temporary: Path) -> None:
    process = subprocess.Popen([*UP, "--registry"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        bootstrap = str(ready(process)["bootstrap"])
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip().removeprefix("ready registry=")
        assert Cli()("schemas", "list", "--json", "--registry", url).json == []
        # The broker knows the registry, so a topic may require schemas.
        Cli()("topics", "create", "checked", "--config", "barnabas.value.schema.validation=id", "-b", bootstrap).worked()
        process.kill()
        process.communicate()
        until(lambda: Cli()("schemas", "list", "--registry", url).code == 1, "the registry ends with the cluster")
    finally:
        process.kill()
        process.communicate()
