"""Kafka's own command-line tools on groups and transactions of a Barnabas node, and on its
files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.differential.raw_client import RawClient
from tests.conformance.differential.transaction_requests import init
from tests.conformance.java_groups.conftest import QUICK
from tests.waiting import PATIENCE_SECONDS, until

GROUPS = "org.apache.kafka.tools.GroupsCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
QUIET = {"log_level": 0}
HOUR_MS = 3_600_000
TRANSACTION_TIMEOUT_MS = 600_000


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


def topic_of(bootstrap: str, name: str, partitions: int, records: int = 0) -> str:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE_SECONDS)
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap})
    for number in range(records):
        producer.produce(name, str(number), partition=number % partitions)
    assert producer.flush(PATIENCE_SECONDS) == 0
    return name


def member(bootstrap: str, group: str, topic: str, count: int, protocol: str) -> Consumer:
    """A member that has read and committed ``count`` records."""
    config = {
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "client.id": "me",
    }
    consumer = Consumer({**QUIET, **config, "bootstrap.servers": bootstrap})
    consumer.subscribe([topic])
    read = 0

    def all_read() -> bool:
        nonlocal read
        message = consumer.poll(0.5)
        read += message is not None and message.error() is None
        return read >= count

    if count:
        until(all_read, f"{count} records are read", seen=lambda: read, pause_seconds=0)
    consumer.commit(asynchronous=False)
    return consumer


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_kafka_consumer_groups(tools: Tools, bootstrap: str, protocol: str, tmp_path: Path) -> None:
    topic = topic_of(bootstrap, f"tool-{protocol}", 2, 20)
    group = f"tool-group-{protocol}"
    consumer = member(bootstrap, group, topic, 20, protocol)

    def run(*arguments: str | Path) -> str:
        return tools.run(CONSUMER_GROUPS, "--bootstrap-server", bootstrap, *arguments)

    def row(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines() if line.startswith(group)]

    assert group in run("--list").split()
    assert [group, "Stable"] in row(run("--list", "--state", "stable"))
    assert row(run("--list", "--state", "empty")) == []
    assert row(run("--list", "--type", protocol)) == [[group, protocol.capitalize()]]
    for line in row(run("--describe", "--group", group)):
        assert line[1] == topic
        assert line[3:6] == ["10", "10", "0"]
        assert line[7:] == ["/127.0.0.1", "me"]
    assert len(row(run("--describe", "--group", group, "--offsets", "--verbose"))) == 2
    (described,) = row(run("--describe", "--group", group, "--members", "--verbose"))
    assert described[4] == "2"
    assert f"{topic}:0,1" in described
    (state,) = row(run("--describe", "--group", group, "--state", "--verbose"))
    assert "Stable" in state
    assert {"classic": "range", "consumer": "uniform"}[protocol] in state

    assert "can only be reset if the group" in run("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert "GroupNotEmptyException" in run("--delete", "--group", group)
    assert "GroupSubscribedToTopicException" in run("--delete-offsets", "--group", group, "--topic", topic)
    consumer.close()
    assert "has no active members" in tools.try_run(CONSUMER_GROUPS, "--bootstrap-server", bootstrap, "--describe", "--group", group).err

    def offsets(text: str) -> dict[str, str]:
        return {line[2]: line[3] for line in row(text)}

    reset = ("--reset-offsets", "--group", group)
    assert offsets(run(*reset, "--topic", topic, "--to-earliest", "--dry-run")) == {"0": "0", "1": "0"}
    assert offsets(run(*reset, "--topic", f"{topic}:1", "--to-offset", "4", "--execute")) == {"1": "4"}
    assert offsets(run("--describe", "--group", group)) == {"0": "10", "1": "4"}
    assert offsets(run(*reset, "--all-topics", "--shift-by", "-3", "--execute")) == {"0": "7", "1": "1"}
    assert offsets(run(*reset, "--topic", topic, "--to-datetime", "2020-01-01T00:00:00.000", "--execute")) == {"0": "0", "1": "0"}
    assert offsets(run(*reset, "--topic", topic, "--by-duration", "PT1H", "--execute")) == {"0": "0", "1": "0"}
    assert offsets(run(*reset, "--topic", topic, "--to-latest", "--execute")) == {"0": "10", "1": "10"}
    assert offsets(run(*reset, "--topic", topic, "--to-current", "--execute")) == {"0": "10", "1": "10"}
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,2\n{topic},1,3\n")
    assert offsets(run(*reset, "--from-file", plan, "--execute")) == {"0": "2", "1": "3"}
    assert "Successful" in run("--delete-offsets", "--group", group, "--topic", f"{topic}:1")
    assert offsets(run("--describe", "--group", group)) == {"0": "2"}
    assert "was successful" in run("--delete", "--group", group)
    assert "GroupIdNotFoundException" in run("--delete", "--group", group)
    assert group not in run("--list").split()


def test_kafka_groups(tools: Tools, bootstrap: str) -> None:
    topic = topic_of(bootstrap, "listed", 1, 1)
    members = [member(bootstrap, f"listed-{protocol}", topic, 1, protocol) for protocol in ("classic", "consumer")]
    listed = [line.split() for line in tools.run(GROUPS, "--bootstrap-server", bootstrap, "--list").splitlines()]
    assert ["listed-classic", "Classic", "consumer"] in listed
    assert ["listed-consumer", "Consumer", "consumer"] in listed
    for consumer in members:
        consumer.close()


def open_transaction(bootstrap: str, transactional_id: str, topic: str) -> Producer:
    # Longer than all questions about the transaction may take.
    timeout = {"transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
    producer = Producer({**QUIET, **timeout, "bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    return producer


def test_kafka_transactions(tools: Tools, bootstrap: str) -> None:
    topic = topic_of(bootstrap, "tool-transactions", 1)
    at = ("--bootstrap-server", bootstrap)
    producer = open_transaction(bootstrap, "tool", topic)
    assert re.search(r"^tool\s+1\s+\d+\s+Ongoing", tools.run(TRANSACTIONS, *at, "list"), re.MULTILINE)
    assert "tool" not in tools.run(TRANSACTIONS, *at, "list", "--duration-filter", str(HOUR_MS))
    described = tools.run(TRANSACTIONS, *at, "describe", "--transactional-id", "tool")
    assert re.search(rf"^1\s+tool\s+\d+\s+0\s+Ongoing\s+{TRANSACTION_TIMEOUT_MS}\s+\d+\s+\d+\s+{topic}-0", described, re.MULTILINE)
    producers = tools.run(TRANSACTIONS, *at, "describe-producers", "--topic", topic, "--partition", "0")
    assert re.search(r"^\d+\s+0\s+-1\s+0\s+\d+\s+0\s*$", producers, re.MULTILINE)
    # The transaction is open, but has not exceeded its timeout.
    assert topic not in tools.run(TRANSACTIONS, *at, "find-hanging", "--broker-id", "1")
    tools.run(TRANSACTIONS, *at, "forceTerminateTransaction", "--transactionalId", "tool")
    until(
        lambda: re.search("Empty|CompleteAbort", tools.run(TRANSACTIONS, *at, "describe", "--transactional-id", "tool")),
        "the transaction is aborted",
    )
    del producer


def test_a_hanging_transaction_is_found_and_aborted(tools: Tools) -> None:
    """A batch of a transaction that its coordinator does not know, as older brokers and clients
    could leave one."""
    with EmbeddedBroker(config={**QUICK, "transaction.partition.verification.enable": "false"}) as node:
        at = ("--bootstrap-server", node.bootstrap)
        topic = topic_of(node.bootstrap, "hangs", 1)
        producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap, "transactional.id": "other"})
        producer.init_transactions(PATIENCE_SECONDS)
        with RawClient(node.bootstrap) as client:
            producer_id = client.ask(init(None), 5).producer_id
            hours_ago = int(time.time() * 1000) - 2 * HOUR_MS
            batch = build_batch(
                [Record(0, hours_ago, None, b"hangs")], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
            )
            data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=bytes(batch))])]
            request = ProduceRequest(transactional_id="hangs", acks=-1, timeout_ms=5000, topic_data=data)
            (answer,) = client.ask(request, 11).responses[0].partition_responses
            assert answer.error_code == 0
        for place in (("--broker-id", "1"), ("--topic", topic, "--partition", "0"), ("--topic", topic)):
            found = tools.run(TRANSACTIONS, *at, "find-hanging", *place)
            assert re.search(rf"^{topic}\s+0\s+{producer_id}\s+0\s+-1\s+0\s", found, re.MULTILINE), found
        tools.run(TRANSACTIONS, *at, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
        assert topic not in tools.run(TRANSACTIONS, *at, "find-hanging", "--broker-id", "1")


COMPLAINTS = re.compile(r"(?i)mismatch|isvalid: false|non-consecutive|out of order|invalid|corrupt|could not|exception|error|unknown")


def test_kafka_dump_log_reads_the_coordinators_logs(tools: Tools, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with EmbeddedBroker(data_dir=data, config=QUICK) as node:
        bootstrap = node.bootstrap
        topic = topic_of(bootstrap, "read", 2, 10)
        for protocol in ("classic", "consumer"):
            member(bootstrap, f"dumped-{protocol}", topic, 10, protocol).close()
        for name, commit in (("committed", True), ("aborted", False)):
            producer = open_transaction(bootstrap, name, topic)
            consumer = member(bootstrap, f"dumped-{name}", topic, 10, "consumer")
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_SECONDS)
            producer.commit_transaction(PATIENCE_SECONDS) if commit else producer.abort_transaction(PATIENCE_SECONDS)
            consumer.close()
        left_open = open_transaction(bootstrap, "open", topic)
    del left_open

    def dumped(topic: str, decoder: str) -> str:
        files = [str(path) for path in sorted(data.glob(f"{topic}-*/*.log")) if path.stat().st_size]
        text = tools.run(DUMP_LOG, decoder, "--files", ",".join(files))
        assert not COMPLAINTS.search(text), text
        return text

    offsets = dumped("__consumer_offsets", "--offsets-decoder")
    # Offset commits and classic groups; and of consumer groups: the group, its members, the epoch
    # of the target assignment, the target assignment, and the current assignments.
    assert set(re.findall(r'key: {"type":"(\d+)"', offsets)) == {"1", "2", "3", "5", "6", "7", "8"}
    assert "endTxnMarker: COMMIT" in offsets
    assert "endTxnMarker: ABORT" in offsets
    states = dumped("__transaction_state", "--transaction-log-decoder")
    for name in ("committed", "aborted", "open"):
        assert name in states
