"""``barnabas transactions`` beside a broker, with producers that end their transactions and some
that do not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.cli.cluster.admin_request import ask
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

LAST_PRODUCE_WITHOUT_IMPLICIT_PARTITIONS = 11


@pytest.fixture
def orders(cli: Cli) -> str:
    cli("topics", "create", "orders", "--partitions", 2).worked()
    return "orders"


def transactional(kafka: EmbeddedBroker, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(PATIENCE_SECONDS)
    return producer


def begin(producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction", partition=0)
    producer.flush()


def test_a_cluster_without_transactions_lists_none(cli: Cli) -> None:
    assert cli("transactions", "list").text == ""
    assert cli("transactions", "list", "--json").json == []
    assert cli("transactions", "find-hanging").text == ""


def test_transactional_ids_are_listed_and_filtered(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    idle, busy = transactional(kafka, "idle"), transactional(kafka, "busy")
    begin(busy, orders)
    assert [(row[0], row[3]) for row in cli("transactions", "list").rows] == [("busy", "Ongoing"), ("idle", "Empty")]
    (ongoing,) = cli("transactions", "list", "--state", "ongoing", "--json").json
    assert (ongoing["transactional_id"], ongoing["coordinator"]) == ("busy", 1)
    assert cli("transactions", "list", "--producer-id", ongoing["producer_id"], "--json").json == [ongoing]
    assert [row["transactional_id"] for row in cli("transactions", "list", "--duration-min", 0, "--state", "Ongoing", "--json").json] == [
        "busy"
    ]
    assert cli("transactions", "list", "--duration-min", 3_600_000, "--state", "Ongoing").text == ""
    busy.commit_transaction(PATIENCE_SECONDS)
    del idle


def test_an_open_transaction_is_described_by_its_coordinator_and_by_its_partition(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    producer = transactional(kafka, "tx")
    begin(producer, orders)
    described = cli("transactions", "describe", "tx", "--json").json
    assert (described["state"], described["coordinator"], described["timeout_ms"]) == ("Ongoing", 1, 60_000)
    assert described["partitions"] == [{"topic": "orders", "partition": 0}]
    assert 0 <= described["duration_ms"] < PATIENCE_SECONDS * 1000
    assert cli("transactions", "describe", "tx").rows[0][-1] == "orders-0"
    (known,) = cli("transactions", "describe-producers", "--topic", orders, "--partition", 0, "--json").json
    assert (known["producer_id"], known["start_offset"], known["coordinator_epoch"]) == (described["producer_id"], 0, None)
    producer.commit_transaction(PATIENCE_SECONDS)
    # The commit is decided; the markers follow.
    until(lambda: cli("transactions", "describe", "tx", "--json").json["state"] == "CompleteCommit", "the transaction is over")
    described = cli("transactions", "describe", "tx", "--json").json
    assert (described["duration_ms"], described["partitions"]) == (None, [])
    assert cli("transactions", "describe-producers", "--topic", orders, "--partition", 0).rows[0][-1] == "-"
    assert cli("transactions", "describe-producers", "--topic", orders, "--partition", 1).text == ""


def test_force_terminate_aborts_and_fences(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    producer = transactional(kafka, "tx")
    begin(producer, orders)
    assert "is fenced, and its transaction" in cli("transactions", "force-terminate", "tx").text
    (known,) = cli("transactions", "describe-producers", "--topic", orders, "--partition", 0, "--json").json
    assert known["start_offset"] is None
    with pytest.raises(KafkaException, match="fenced"):
        producer.commit_transaction(PATIENCE_SECONDS)
    assert cli("consume", orders, "--partition", 0, "--from-beginning", "--until-end").text == ""


@pytest.fixture
def careless() -> Iterator[EmbeddedBroker]:
    """A broker that, like older ones, does not verify transactions with the coordinator."""
    with EmbeddedBroker(config={"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


def leave_hanging(broker: EmbeddedBroker, topic: str) -> int:
    """Write a record of a transaction that no coordinator knows. Returns the producer id."""
    producer_id: int = ask(
        broker.bootstrap, {}, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), seconds_max=PATIENCE_SECONDS
    ).producer_id
    batch = build_batch(
        [Record(0, time.time_ns() // 1_000_000, None, b"x")], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
    )
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=bytes(batch))])
    request = ProduceRequest(transactional_id="lost", acks=-1, timeout_ms=1000, topic_data=[data])
    response = ask(broker.bootstrap, {}, request, seconds_max=PATIENCE_SECONDS, version_max=LAST_PRODUCE_WITHOUT_IMPLICIT_PARTITIONS)
    assert response.responses[0].partition_responses[0].error_code == 0
    return producer_id


def test_a_hanging_transaction_is_found_and_aborted(careless: EmbeddedBroker) -> None:
    cli = Cli(careless.bootstrap)
    cli("topics", "create", "orders").worked()
    producer_id = leave_hanging(careless, "orders")
    alive = transactional(careless, "tx")
    begin(alive, "orders")
    assert cli("transactions", "find-hanging").text == "", "neither has been open for fifteen minutes"
    for scope in ((), ("--topic", "orders"), ("--topic", "orders", "--partition", 0)):
        (found,) = cli("transactions", "find-hanging", "--max-transaction-timeout", 0, *scope, "--json").json
        assert (found["topic"], found["partition"], found["producer_id"], found["start_offset"]) == ("orders", 0, producer_id, 0)
    assert cli("transactions", "find-hanging", "--max-transaction-timeout", 0).rows[0][:3] == ["orders", "0", str(producer_id)]
    alive.commit_transaction(PATIENCE_SECONDS)
    until(lambda: cli("transactions", "describe", "tx", "--json").json["state"] == "CompleteCommit", "the transaction is over")
    read = ("consume", "orders", "--from-beginning", "--until-end")
    assert cli(*read).text == "", "what is committed waits behind what hangs"
    aborted = cli("transactions", "abort", "--topic", "orders", "--partition", 0, "--start-offset", 0).text
    assert aborted == f"Aborted the transaction of producer {producer_id} in partition 0 of topic orders.\n"
    assert cli(*read).text == "in a transaction\n"
    assert cli("transactions", "find-hanging", "--max-transaction-timeout", 0).text == ""


def test_missing_transactions_are_named_in_the_error(cli: Cli, orders: str) -> None:
    for command in ("describe", "force-terminate"):
        assert cli("transactions", command, "nope").complaint == "There is no transactional id nope."
    assert cli("transactions", "list").text == "", "asking for an id must not make it"
    assert cli("transactions", "describe-producers", "--topic", "nope", "--partition", 0).complaint == "There is no topic nope."
    assert cli("transactions", "find-hanging", "--topic", "nope").complaint == "There is no topic nope."
    assert cli("transactions", "describe-producers", "--topic", orders, "--partition", 7).complaint == "Topic orders has no partition 7."
    nothing = cli("transactions", "abort", "--topic", orders, "--partition", 0, "--start-offset", 5)
    assert nothing.complaint == "No open transaction starts at offset 5 in partition 0 of topic orders."


def test_contradicting_options_never_reach_the_broker() -> None:
    nowhere = Cli("127.0.0.1:1")
    assert "--topic" in nowhere("transactions", "find-hanging", "--partition", 1).complaint
    assert "'sleepy'" in nowhere("transactions", "list", "--state", "sleepy").complaint
