"""``barnabas reassign`` with ``log_dirs``: replicas move between the directories of their
broker.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli
from tests.scenarios.client import Client
from tests.scenarios.running import RunningNode
from tests.waiting import until

BROKER, RATE = 4, "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    parent = tmp_path_factory.mktemp("node")
    return [parent / "first", parent / "second"]


@pytest.fixture(scope="module")
def node(directories: list[Path]) -> Iterator[RunningNode]:
    with RunningNode(directories) as running:
        yield running


@pytest.fixture
def client(node: RunningNode) -> Iterator[Client]:
    with Client(node.bootstrap) as connected:
        yield connected


def plan_for(path: Path, topic: str, directory: Path | str) -> Path:
    partition = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [str(directory)]}
    path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    return path


def away_from(directories: list[Path], topic: str) -> Path:
    return next(each for each in directories if not (each / f"{topic}-0").exists())


def test_a_replica_moves_and_is_verified(node: RunningNode, client: Client, directories: list[Path], tmp_path: Path) -> None:
    client.create_topic("moved")
    client.produce("moved", [b"1", b"2"])
    target = away_from(directories, "moved")
    plan, cli = plan_for(tmp_path / "plan.json", "moved", target), Cli(node.bootstrap)
    cli("reassign", "execute", plan, "--directory-throttle", 1_000_000).worked()
    until(lambda: cli("reassign", "verify", plan).code == 0, "it is there")
    (replica,) = cli("reassign", "verify", plan, "--json").json["replicas"]
    assert replica == {
        "topic": "moved",
        "partition": 0,
        "broker": 1,
        "state": "complete",
        "directory": str(target),
        "target": str(target),
    }
    assert client.values("moved") == [b"1", b"2"]
    assert "complete" in cli("reassign", "verify", plan).text
    effective = node.node.broker.metadata.effective.broker[RATE]
    assert effective == 2**63 - 1, "verify takes the throttle away"


def test_a_move_in_progress_is_shown_and_cancelled(node: RunningNode, client: Client, directories: list[Path], tmp_path: Path) -> None:
    client.create_topic("slow")
    for _ in range(3):
        client.produce("slow", [b"x" * 100_000])
    target = away_from(directories, "slow")
    plan, cli = plan_for(tmp_path / "plan.json", "slow", target), Cli(node.bootstrap)
    client.alter_configs(BROKER, "1", {RATE: "0"})
    cli("reassign", "execute", plan).worked()
    verified = cli("reassign", "verify", plan, "--json")
    assert verified.code == 1
    document = json.loads(verified.out)
    assert (document["replicas"][0]["state"], document["throttles_cleared"]) == ("in progress", False)
    assert "Kept slow-0 on broker 1 in the directories they are in." in cli("reassign", "cancel", plan).text
    verified = cli("reassign", "verify", plan, "--json")
    assert json.loads(verified.out)["replicas"][0]["state"] == "not moved"
    assert not (target / "slow-0").exists()


def test_a_directory_that_the_broker_lacks_is_refused(node: RunningNode, client: Client, tmp_path: Path) -> None:
    client.create_topic("stays")
    plan = plan_for(tmp_path / "plan.json", "stays", tmp_path / "nowhere")
    complaint = Cli(node.bootstrap)("reassign", "execute", plan).complaint
    assert complaint.startswith("Cannot move to its directory stays-0 on broker 1: ")
