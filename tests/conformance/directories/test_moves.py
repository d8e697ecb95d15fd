"""Kafka's own tools move replicas between the directories of a Barnabas node, watch them and call them back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peers.apache_kafka import why_missing
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.scenarios.client import Client
from tests.scenarios.running import RunningNode
from tests.scenarios.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


def described(tools: Tools, bootstrap: str, topic: str) -> dict[str, list[dict[str, Any]]]:
    """By directory, what kafka-log-dirs says of a topic."""
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
