"""Kafka's own tools move replicas between the directories of a Barnabas node, watch the moves and
cancel them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, free_port, why_missing
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.scenarios.client import Client
from tests.scenarios.running import RunningNode
from tests.scenarios.test_directory_moves import RATE, move
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


def described(tools: Tools, bootstrap: str, topic: str) -> dict[str, list[dict[str, Any]]]:
    """The output of kafka-log-dirs about a topic, by directory."""
    printed = tools.run(LOG_DIRS, "--bootstrap-server", bootstrap, "--describe", "--topic-list", topic)
    line = next(line for line in printed.splitlines() if line.startswith("{"))
    (broker,) = json.loads(line)["brokers"]
    return {Path(each["logDir"]).name: each["partitions"] for each in broker["logDirs"]}


def test_replicas_are_moved_between_directories(tools: Tools, tmp_path: Path) -> None:
    directories = [tmp_path / "first", tmp_path / "second"]
    with RunningNode(directories) as node, Client(node.bootstrap) as client:
        server = ("--bootstrap-server", node.bootstrap)
        client.create_topic("t")
        sent = [b"%d " % number + b"x" * 100_000 for number in range(5)]
        for value in sent:
            client.produce("t", [value])
        home = next(each for each in directories if (each / "t-0").exists())
        away = next(each for each in directories if each is not home)
        plan = tmp_path / "plan.json"
        partition = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": [str(away)]}
        plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
        arguments = ("--execute", "--reassignment-json-file", plan, "--replica-alter-log-dirs-throttle", "1000")
        executed = tools.run(REASSIGN, *server, *arguments)
        assert f"log directory to {away} for replica t-0 with broker 1" in executed
        verified = tools.run(REASSIGN, *server, "--verify", "--reassignment-json-file", plan, "--preserve-throttles")
        assert "Reassignment of replica t-0-1 is still in progress." in verified
        shown = described(tools, node.bootstrap, "t")
        assert [each["isFuture"] for each in shown[home.name]] == [False]
        assert [each["isFuture"] for each in shown[away.name]] == [True]
        cancelled = tools.run(REASSIGN, *server, "--cancel", "--reassignment-json-file", plan)
        assert f"log directory to {home} for replica t-0 with broker 1" in cancelled
        assert described(tools, node.bootstrap, "t")[away.name] == []
        tools.run(REASSIGN, *server, "--execute", "--reassignment-json-file", plan)

        def complete() -> bool:
            printed = tools.run(REASSIGN, *server, "--verify", "--reassignment-json-file", plan)
            return "Reassignment of replica t-0-1 completed successfully." in printed

        until(complete, "the replica is there")
        assert [each["isFuture"] for each in described(tools, node.bootstrap, "t")[away.name]] == [False]
        assert client.values("t") == sent
        # No new replicas go to a cordoned directory.
        cordon = ("--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", f"cordoned.log.dirs=[{home}]")
        tools.run(CONFIGS, *server, *cordon)
        client.create_topic("u", 2)
        assert sorted(each.name for each in away.glob("u-*")) == ["u-0", "u-1"]


@pytest.mark.soak
def test_a_move_that_one_program_begins_is_completed_by_the_other(tmp_path: Path) -> None:
    """Apache Kafka 4.3 is killed in the middle of a move, then Barnabas is; each finds the files
    that the other has left."""
    directories = [tmp_path / "first", tmp_path / "second"]
    settings = {"log.dirs": ",".join(map(str, directories)), "broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "300"}
    port = free_port()

    def begin_move(bootstrap: str) -> Path:
        """Begins a move to the directory where the partition is not; a throttle holds it back."""
        with Client(bootstrap) as client:
            client.alter_configs(4, "1", {RATE: "1"})
            away = next(each for each in directories if not (each / "t-0").exists())
            assert move(client, "t", away) == 0
            until(lambda: list(away.glob("t-0.*-future")), "the copy is there")
        return away

    def end_move(bootstrap: str, away: Path) -> None:
        with Client(bootstrap) as client:
            client.alter_configs(4, "1", {RATE: "100000000"})
            until((away / "t-0").exists, "the replica is there")
            assert [int((each or b"").partition(b" ")[0]) for each in client.values("t")] == list(range(3))
            assert not [each for data in directories for each in data.glob("t-0.*-future")]

    with apache_kafka(directories[0], extra=settings, format_storage=True, port=port) as (bootstrap, process):
        with Client(bootstrap) as client:
            client.create_topic("t")
            for number in range(3):
                client.produce("t", [b"%d " % number + b"x" * 900_000])
        away = begin_move(bootstrap)
        process.kill()
        process.wait()
    ours = EmbeddedBroker(process=True, data_dir=directories[0], port=port, config=settings)
    ours.start()
    end_move(ours.bootstrap, away)
    back = begin_move(ours.bootstrap)
    ours.kill()
    with apache_kafka(directories[0], extra=settings, format_storage=False, port=port) as (bootstrap, _):
        end_move(bootstrap, back)
