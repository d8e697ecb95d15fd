"""Kafka's own ``kafka-share-groups`` on share groups of a Barnabas node, with members of
librdkafka.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import ShareConsumer

from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.java_groups.test_tools import GROUPS, QUIET, topic_of
from tests.waiting import until

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


def share_member(bootstrap: str, group: str, topic: str, count: int) -> ShareConsumer:
    """A member that has read and accepted ``count`` records."""
    consumer = ShareConsumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group, "client.id": "me"})
    consumer.subscribe([topic])
    read = 0

    def all_read() -> bool:
        nonlocal read
        read += sum(message.error() is None for message in consumer.poll(0.5))
        return read >= count

    until(all_read, f"{count} records are read", seen=lambda: read, pause_seconds=0)
    consumer.commit_sync(10)
    return consumer


def test_kafka_share_groups(tools: Tools, bootstrap: str) -> None:
    topic, group = topic_of(bootstrap, "tool-share", 2, 20), "tool-share-group"
    server = ("--bootstrap-server", bootstrap)
    earliest = ("--add-config", "share.auto.offset.reset=earliest")
    tools.run(CONFIGS, *server, "--alter", "--entity-type", "groups", "--entity-name", group, *earliest)

    def run(*arguments: str) -> str:
        return tools.run(SHARE_GROUPS, *server, *arguments)

    def refused(*arguments: str) -> str:
        ended = tools.try_run(SHARE_GROUPS, *server, *arguments)
        return ended.out + ended.err

    def rows(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines() if line.startswith(group)]

    def offsets(text: str) -> dict[str, list[str]]:
        return {line[2]: line[3:] for line in rows(text)}

    consumer = share_member(bootstrap, group, topic, 20)
    assert group in run("--list").split()
    assert [group, "Stable"] in rows(run("--list", "--state", "stable"))
    assert rows(run("--list", "--state", "empty")) == []
    assert [group, "Share", "share"] in rows(tools.run(GROUPS, *server, "--list"))
    (member,) = rows(run("--describe", "--group", group, "--members", "--verbose"))
    assert member[2:5] == ["/127.0.0.1", "me", "2"]
    assert f"{topic}:0,1" in member
    (state,) = rows(run("--describe", "--group", group, "--state", "--verbose"))
    assert "Stable" in state
    assert [lag for _, lag in offsets(run("--describe", "--group", group)).values()] == ["0", "0"]
    assert len(rows(run("--describe", "--group", group, "--offsets", "--verbose"))) == 2
    reset = ("--reset-offsets", "--group", group, "--topic", topic)
    assert "is not empty" in refused(*reset, "--to-earliest", "--execute")
    assert "GroupNotEmptyException" in refused("--delete", "--group", group)
    assert "The group is not empty" in refused("--delete-offsets", "--group", group, "--topic", topic)
    consumer.close()

    run(*reset, "--to-earliest", "--dry-run")
    assert [lag for _, lag in offsets(run("--describe", "--group", group)).values()] == ["0", "0"]
    run(*reset, "--to-earliest", "--execute")
    assert offsets(run("--describe", "--group", group)) == {"0": ["0", "10"], "1": ["0", "10"]}
    run(*reset, "--to-latest", "--execute")
    assert offsets(run("--describe", "--group", group)) == {"0": ["10", "0"], "1": ["10", "0"]}
    run(*reset, "--to-datetime", "2020-01-01T00:00:00.000", "--execute")
    assert offsets(run("--describe", "--group", group)) == {"0": ["0", "10"], "1": ["0", "10"]}
    # All records come again, also those that were accepted.
    share_member(bootstrap, group, topic, 20).close()
    assert "Successful" in run("--delete-offsets", "--group", group, "--topic", topic)
    assert "has no offset information" in run("--describe", "--group", group)
    assert "successful" in run("--delete", "--group", group)
    assert group not in run("--list").split()
