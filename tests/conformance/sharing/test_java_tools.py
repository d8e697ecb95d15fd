"""Kafka's own share consumer, in Kafka's own tools."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from peers.apache_kafka import why_missing
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.sharing.conftest import MakeGroup, MakeTopic

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
VERIFIABLE = "org.apache.kafka.tools.VerifiableShareConsumer"
PERFORMANCE = "org.apache.kafka.tools.ShareConsumerPerformance"


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


def test_the_console_share_consumer_prints_every_record(bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup, tools: Tools) -> None:
    topic, group = make_topic(50, partitions=2), make_group()
    arguments = ("--bootstrap-server", bootstrap, "--topic", topic, "--group", group, "--max-messages", "50", "--timeout-ms", "60000")
    assert sorted(map(int, tools.run(CONSOLE, *arguments).split())) == list(range(50))


@pytest.mark.parametrize("flag", ["--release", "--reject"])
def test_the_console_share_consumer_releases_and_rejects(
    bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup, tools: Tools, flag: str
) -> None:
    topic, group = make_topic(10), make_group()
    arguments = ("--bootstrap-server", bootstrap, "--topic", topic, "--group", group)
    tools.run(CONSOLE, *arguments, "--max-messages", "10", "--timeout-ms", "60000", flag)
    # Rejected records do not come, so only a short wait tells that.
    patience_ms = "60000" if flag == "--release" else "5000"
    again = tools.try_run(CONSOLE, *arguments, "--max-messages", "10", "--timeout-ms", patience_ms).out.split()
    assert len(again) == (10 if flag == "--release" else 0)


@pytest.mark.parametrize("mode", ["auto", "sync", "async"])
def test_the_verifiable_share_consumer_acknowledges_every_record(
    bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup, tools: Tools, mode: str
) -> None:
    topic, group = make_topic(200), make_group()
    printed = tools.run(
        VERIFIABLE,
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--group-id",
        group,
        "--max-messages",
        "200",
        "--acknowledgement-mode",
        mode,
    )
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 200
    acknowledged = [event for event in events if event["name"] == "offsets_acknowledged"]
    assert sum(event["count"] for event in acknowledged) == 200
    assert all(event["success"] for event in acknowledged)


def test_the_share_consumer_performance_tool_reads_every_record(
    bootstrap: str, make_topic: MakeTopic, make_group: MakeGroup, tools: Tools
) -> None:
    topic, group = make_topic(2000), make_group()
    arguments = ("--bootstrap-server", bootstrap, "--topic", topic, "--group", group, "--num-records", "2000", "--timeout", "60000")
    assert ", 2000, " in tools.run(PERFORMANCE, *arguments)
