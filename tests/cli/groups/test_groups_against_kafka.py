"""Our commands for groups and transactions and Kafka's, on a node of ours and on Apache Kafka: all
four combinations report the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, why_missing
from tests.cli.running import Cli
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))]

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
FAST = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


@pytest.fixture(scope="module", params=["barnabas", "apache-kafka"])
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "barnabas":
        with EmbeddedBroker(process=True) as broker:
            yield broker.bootstrap
    else:
        with apache_kafka(extra=FAST) as (bootstrap, _):
            yield bootstrap


@pytest.fixture(scope="module")
def cli(bootstrap: str) -> Cli:
    cli = Cli(bootstrap)
    cli("topics", "create", "orders", "--partitions", 2).worked()
    cli("produce", "orders", "--partition", 0, stdin=b"a\nb\nc\n").worked()
    return cli


def table(text: str) -> list[dict[str, str]]:
    """The output of Kafka's tools: words in columns. An empty last column is left out."""
    head, *rows = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(head, row, strict=False)) for row in rows]


def kafkas_progress(tools: Tools, bootstrap: str, group: str) -> dict[tuple[str, str], tuple[str, ...]]:
    text = tools.run(GROUPS, "--bootstrap-server", bootstrap, "--describe", "--group", group)
    columns = ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    return {(row["TOPIC"], row["PARTITION"]): tuple(row[name] for name in columns) for row in table(text)}


def our_progress(cli: Cli, group: str) -> dict[tuple[str, str], tuple[str, ...]]:
    rows = [[str(each) for each in row] for row in cli("groups", "describe", group).rows]
    return {(row[0], row[1]): tuple(row[2:]) for row in rows}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_our_tool_and_kafkas_report_the_same_groups(cli: Cli, tools: Tools, bootstrap: str, protocol: str, tmp_path: Path) -> None:
    group = f"{protocol}-readers"
    settings = {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest", "client.id": "me", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": bootstrap, "enable.auto.commit": False, **settings})
    consumer.subscribe(["orders"])
    assert consumer.poll(PATIENCE_SECONDS) is not None
    consumer.commit(asynchronous=False)
    at = ("--bootstrap-server", bootstrap)
    # In the new protocol a member acknowledges its assignment with its next heartbeat.
    until(lambda: cli("groups", "describe", group, "--json").json["state"] == "Stable", "the group is stable")

    ours = our_progress(cli, group)
    assert ours["orders", "0"][:3] == ("1", "3", "2")
    assert ours == kafkas_progress(tools, bootstrap, group)
    (members,) = table(tools.run(GROUPS, *at, "--describe", "--group", group, "--members"))
    (reader,) = cli("groups", "describe", group, "--members", "--json").json["members"]
    assert (members["CONSUMER-ID"], members["CLIENT-ID"], members["#PARTITIONS"]) == (reader["member_id"], "me", "2")
    listed = {row["GROUP"]: (row["TYPE"], row["STATE"]) for row in table(tools.run(GROUPS, *at, "--list", "--type", "--state"))}
    assert {each["group"]: (each["kind"], each["state"]) for each in cli("groups", "list", "--json").json} == listed
    assert listed[group] == (protocol.capitalize(), "Stable")
    consumer.close()

    assert our_progress(cli, group) == kafkas_progress(tools, bootstrap, group)
    _compare_resets(cli, tools, at, group, tmp_path)
    assert "Deleted group" in cli("groups", "delete", group).text
    assert group not in tools.run(GROUPS, *at, "--list").split()


def _compare_resets(cli: Cli, tools: Tools, at: tuple[str, str], group: str, tmp_path: Path) -> None:
    theirs = ("--reset-offsets", "--group", group, "--export")
    for words in (("--to-earliest",), ("--to-latest",), ("--to-current",), ("--to-offset", "9"), ("--by-duration", "P1D")):
        ours = cli("groups", "reset-offsets", group, "--topic", "orders", *words, "--export")
        assert (ours.code, sorted(ours.out.decode().split())) == (0, _csv(tools.run(GROUPS, *at, *theirs, "--topic", "orders", *words)))
    shifted = cli("groups", "reset-offsets", group, "--all-topics", "--shift-by", 1, "--export").text
    assert shifted.split() == _csv(tools.run(GROUPS, *at, *theirs, "--all-topics", "--shift-by", "1"))
    # Each tool imports the plan that the other exported.
    plan = tmp_path / "plan.csv"
    plan.write_text(shifted)
    tools.run(GROUPS, *at, *theirs[:3], "--from-file", plan, "--execute")
    assert our_progress(cli, group)["orders", "0"][0] == "2"
    plan.write_text("\n".join(_csv(tools.run(GROUPS, *at, *theirs, "--all-topics", "--shift-by", "1"))))
    cli("groups", "reset-offsets", group, "--from-file", plan, "--execute").worked()
    assert our_progress(cli, group)["orders", "0"][0] == "3"
    cli("groups", "delete-offsets", group, "--topic", "orders").worked()


def _csv(text: str) -> list[str]:
    """The plan among the other lines of the tool."""
    return sorted(line.replace('"', "") for line in text.split() if line.count(",") == 2)


def test_our_tool_and_kafkas_report_the_same_transactions(cli: Cli, tools: Tools, bootstrap: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "tx", "transaction.timeout.ms": 600_000, "log_level": 0})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce("orders", b"x", partition=1)
    producer.flush()

    (listed,) = table(tools.run(TRANSACTIONS, *at, "list"))
    (ours,) = cli("transactions", "list", "--json").json
    assert listed == {
        "TransactionalId": "tx",
        "Coordinator": str(ours["coordinator"]),
        "ProducerId": str(ours["producer_id"]),
        "TransactionState": ours["state"],
    }
    (described,) = table(tools.run(TRANSACTIONS, *at, "describe", "--transactional-id", "tx"))
    mine: dict[str, Any] = cli("transactions", "describe", "tx", "--json").json
    assert described["ProducerEpoch"] == str(mine["producer_epoch"])
    assert described["TransactionTimeoutMs"] == str(mine["timeout_ms"])
    assert described["CurrentTransactionStartTimeMs"] == str(mine["start_ms"])
    assert (described["TopicPartitions"], mine["partitions"]) == ("orders-1", [{"topic": "orders", "partition": 1}])
    place = ("--topic", "orders", "--partition", "1")
    (known,) = table(tools.run(TRANSACTIONS, *at, "describe-producers", *place))
    (open_one,) = cli("transactions", "describe-producers", *place, "--json").json
    assert known == {
        "ProducerId": str(open_one["producer_id"]),
        "ProducerEpoch": str(open_one["producer_epoch"]),
        "LatestCoordinatorEpoch": "-1" if open_one["coordinator_epoch"] is None else str(open_one["coordinator_epoch"]),
        "LastSequence": str(open_one["last_sequence"]),
        "LastTimestamp": str(open_one["last_timestamp"]),
        "CurrentTransactionStartOffset": str(open_one["start_offset"]),
    }
    assert cli("transactions", "find-hanging", "--max-transaction-timeout", 0).text == ""
    assert table(tools.run(TRANSACTIONS, *at, "find-hanging", "--max-transaction-timeout", "0", "--topic", "orders")) == []

    cli("transactions", "abort", *place, "--start-offset", open_one["start_offset"]).worked()
    (known,) = table(tools.run(TRANSACTIONS, *at, "describe-producers", *place))
    assert known["CurrentTransactionStartOffset"] == "None"
    cli("transactions", "force-terminate", "tx").worked()
    (described,) = table(tools.run(TRANSACTIONS, *at, "describe", "--transactional-id", "tx"))
    assert described["TransactionState"] == cli("transactions", "describe", "tx", "--json").json["state"]
    assert int(described["ProducerEpoch"]) > mine["producer_epoch"]
