"""A dynamic quorum: its voters are in its log, formatted and changed by commands only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peers.apache_kafka import write_properties
from peers.cluster import free_ports
from tests.cli.running import Cli
from tests.waiting import until


class DynamicQuorum:
    """Node 1 is broker and controller, formatted as the only voter; node 2 is a controller that
    follows as an observer until it is added."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        port, *controller_ports = free_ports(3)
        self.cli = Cli(f"127.0.0.1:{port}")
        self.controllers = [f"127.0.0.1:{each}" for each in controller_ports]
        self._write(1, "broker,controller", [f"PLAINTEXT://127.0.0.1:{port}", f"CONTROLLER://{self.controllers[0]}"])
        self._write(2, "controller", [f"CONTROLLER://{self.controllers[1]}"])
        self._nodes: list[subprocess.Popen[str]] = []

    def _write(self, node_id: int, roles: str, listeners: list[str]) -> None:
        properties = {
            "process.roles": roles,
            "node.id": str(node_id),
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": ",".join(self.controllers),
            "log.dirs": str(self.directory / f"data-{node_id}"),
        }
        write_properties(self.file(node_id), properties)

    def file(self, node_id: int) -> Path:
        return self.directory / f"node-{node_id}.properties"

    def start(self, node_id: int) -> None:
        command = [sys.executable, "-m", "barnabas", "server", "--log-level", "ERROR", "--config", str(self.file(node_id))]
        node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._nodes.append(node)
        assert node.stdout is not None
        assert node.stdout.readline().startswith("ready ")

    def close(self) -> None:
        for node in self._nodes:
            node.kill()
            node.communicate()

    def replication(self) -> dict[int, str]:
        rows: list[dict[str, Any]] = self.cli("quorum", "describe", "--replication", "--json").json["replication"]
        return {row["node"]: row["status"] for row in rows}

    def eventually(self, expected: dict[int, str]) -> None:
        until(lambda: self.replication() == expected, f"the quorum is {expected}", seen=self.replication)


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[DynamicQuorum]:
    made = DynamicQuorum(tmp_path)
    cluster_id = Cli()("storage", "random-uuid").text.strip()
    Cli()("storage", "format", "--cluster-id", cluster_id, "--config", made.file(1), "--standalone").worked()
    Cli()("storage", "format", "--cluster-id", cluster_id, "--config", made.file(2), "--no-initial-controllers").worked()
    try:
        made.start(1)
        yield made
    finally:
        made.close()


def test_a_controller_is_added_to_the_voters_and_removed_again(quorum: DynamicQuorum) -> None:
    cli = quorum.cli
    assert quorum.replication() == {1: "leader"}
    quorum.start(2)
    quorum.eventually({1: "leader", 2: "observer"})
    would = cli("quorum", "add", "--config", quorum.file(2), "--dry-run").text
    assert would.startswith("Would add voter 2 with directory ")
    assert quorum.controllers[1] in would
    added = cli("quorum", "add", "--config", quorum.file(2)).text
    assert added == would.replace("Would add", "Added")
    quorum.eventually({1: "leader", 2: "follower"})
    assert cli("quorum", "add", "--config", quorum.file(2)).complaint == "Node 2 is a voter already."

    # Controllers can be asked as well, whichever of them is active.
    status = Cli(quorum.controllers[1])("quorum", "describe", "--bootstrap", ",".join(reversed(quorum.controllers)), "--json").json
    assert [voter["node"] for voter in status["voters"]] == [1, 2]

    other = "AAAAAAAAAAAAAAAAAAAA1A"
    assert cli("quorum", "remove", 2, "--directory-id", other).complaint == f"There is no voter 2 with directory {other}."
    assert cli("quorum", "remove", 2).text.startswith("Removed voter 2 with directory ")
    quorum.eventually({1: "leader", 2: "observer"})


def test_a_properties_file_without_the_controller_role_is_refused(quorum: DynamicQuorum, tmp_path: Path) -> None:
    assert "No such file" in quorum.cli("quorum", "add", "--config", tmp_path / "nothing").complaint
    text = quorum.file(2).read_text()
    (tmp_path / "unformatted").write_text(text.replace("data-2", "data-3"))
    assert "is not formatted" in quorum.cli("quorum", "add", "--config", tmp_path / "unformatted").complaint
    (tmp_path / "broker").write_text(quorum.file(1).read_text().replace("broker,controller", "broker").replace(",CONTROLLER:", ",B:"))
    assert str(tmp_path / "broker") in quorum.cli("quorum", "add", "--config", tmp_path / "broker").complaint
