"""The image's entrypoint as a process, with the scripts of this checkout instead of an image's."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.storage.meta_properties import META_PROPERTIES
from tests.waiting import PATIENCE_SECONDS

DOCKER = Path(__file__).parents[3] / "deploy" / "docker"
OTHER_CLUSTER = "Zk9pVYQKSuaPWzQH2mR4Rg"
DEFAULT_CLUSTER = "5L6g3nShT-eMCtK--X86sw"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The image's variables, with free ports and a data directory of the test."""
    shipped = (DOCKER / "server.properties").read_text()
    own = re.sub(r"^log\.dirs=.*", f"log.dirs={tmp_path / 'data'}", shipped, flags=re.MULTILINE)
    (tmp_path / "server.properties").write_text(re.sub(r"\b909[23]\b", "0", own))
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "BARNABAS_DEFAULT_CONFIG": str(tmp_path / "server.properties"),
        "BARNABAS_MOUNTED_CONFIG": str(tmp_path / "mounted.properties"),
        "KAFKA_BARNABAS_PROMETHEUS_LISTENER": "127.0.0.1:0",
        "PYTHONUNBUFFERED": "1",
    }


def entrypoint(*words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(DOCKER / "entrypoint.sh"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line that it prints when it is ready."""
    process = subprocess.Popen([str(DOCKER / "entrypoint.sh"), "server"], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, next(line for line in process.stdout if line.startswith("ready"))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_first_start_formats_and_the_second_keeps_the_data(environment: dict[str, str], tmp_path: Path) -> None:
    with serving({**environment, "CLUSTER_ID": OTHER_CLUSTER}) as (process, ready):
        assert f"cluster={OTHER_CLUSTER}" in ready
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0, "the signal reaches the server, not the shell"
    written = (tmp_path / "data" / META_PROPERTIES).read_bytes()
    with serving(environment) as (_, ready):
        assert f"cluster={OTHER_CLUSTER}" in ready, "an existing directory keeps its cluster without CLUSTER_ID"
    assert (tmp_path / "data" / META_PROPERTIES).read_bytes() == written


def test_the_environment_alone_configures_a_node(environment: dict[str, str], tmp_path: Path) -> None:
    """With the socket of systemd as well, because starting a node takes a second."""
    alone = {
        **environment,
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_NODE_ID": "7",
        "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "7@127.0.0.1:0",
        "KAFKA_LOG_DIRS": str(tmp_path / "elsewhere"),
    }
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"{short}/notify")
        manager.settimeout(PATIENCE_SECONDS)
        with serving({**alone, "NOTIFY_SOCKET": f"{short}/notify"}) as (process, ready):
            assert f"cluster={DEFAULT_CLUSTER} node=7" in ready
            assert manager.recv(64) == b"READY=1"
            process.send_signal(signal.SIGTERM)
            assert manager.recv(64) == b"STOPPING=1"
            assert process.wait(PATIENCE_SECONDS) == 0
    assert (tmp_path / "elsewhere" / META_PROPERTIES).exists()


def test_a_mounted_file_replaces_the_file_of_the_image(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mounted.properties").write_text("num.partitions=none\n")
    refused = entrypoint("server", environment=environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "num.partitions" in refused.stderr


def test_an_invalid_variable_stops_the_start_with_a_sentence_that_names_it(environment: dict[str, str]) -> None:
    refused = entrypoint("server", environment={**environment, "KAFKA_NUM_PARTITIONS": "many"})
    assert refused.returncode == 1
    assert refused.stderr.startswith("barnabas: KAFKA_NUM_PARTITIONS in the environment: ")
    assert refused.stderr.count("\n") == 1


def test_a_volume_of_another_cluster_is_refused(environment: dict[str, str]) -> None:
    formatting = [sys.executable, "-m", "barnabas", "storage", "format", "--cluster-id", DEFAULT_CLUSTER]
    subprocess.run([*formatting, "--config", environment["BARNABAS_DEFAULT_CONFIG"]], check=True, env={**os.environ})
    refused = entrypoint("server", environment={**environment, "CLUSTER_ID": OTHER_CLUSTER})
    assert refused.returncode == 1
    assert f"belongs to node 1 of cluster {DEFAULT_CLUSTER}" in refused.stderr


def test_another_command_runs_without_a_node(environment: dict[str, str], tmp_path: Path) -> None:
    assert len(entrypoint("storage", "random-uuid", environment=environment).stdout) == 23
    assert not (tmp_path / "data").exists()
