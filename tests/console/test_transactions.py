"""Transactions in the console: open ones, hanging ones, and both ways to end them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.console.settings import ClusterSettings
from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.console.console_thread import ConsoleClient, console_of
from tests.waiting import until

LAST_PRODUCE_WITHOUT_IMPLICIT_PARTITIONS = 11
TRANSACTIONS = "/clusters/local/transactions"


@pytest.fixture
def transactional_id() -> str:
    return f"tx-{uuid4().hex[:12]}"


def begun(broker: EmbeddedBroker, transactional_id: str, topic: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id, "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction", partition=0)
    producer.flush()
    return producer


def test_an_open_transaction_is_listed_shown_and_terminated(
    client: ConsoleClient, broker: EmbeddedBroker, topic: str, transactional_id: str
) -> None:
    producer = begun(broker, transactional_id, topic)
    (row,) = client.get(TRANSACTIONS, search=transactional_id)["page"]["items"]
    assert (row["state"], row["is_overdue"], row["partitions"]) == ("Ongoing", False, [{"topic": topic, "partition": 0}])
    assert client.get(TRANSACTIONS, search=transactional_id, state="Ongoing", producer_id=row["producer_id"])["page"]["total"] == 1
    assert client.get(TRANSACTIONS, search=transactional_id, state="CompleteAbort")["page"]["total"] == 0
    assert client.get(TRANSACTIONS, search=transactional_id, open_seconds_min=3600)["page"]["total"] == 0
    assert transactional_id in client.page(TRANSACTIONS, search=transactional_id)
    own = f"{TRANSACTIONS}/ids/{transactional_id}"
    assert topic in client.page(own)
    managed = client.try_post(f"{TRANSACTIONS}/abort", topic=topic, partition=0, start_offset=0)
    assert (managed.status_code, "does not hang" in managed.json()["error"]) == (400, True)
    client.post(f"{own}/terminate")
    until(lambda: client.get(own)["partitions"] == [], "the transaction is aborted")
    assert client.get(own)["seconds"] is None
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)
    (record,) = client.get(f"/clusters/local/topics/{topic}/records", begin="oldest")["records"]
    assert record["transaction"] == "aborted"
    assert client.try_post(f"{own}/terminate").status_code == 400
    assert client.http.get(f"/api{TRANSACTIONS}/ids/no-such-id").status_code == 404


@pytest.fixture
def careless() -> Iterator[EmbeddedBroker]:
    """A broker that, like older ones, does not verify transactions with the coordinator."""
    with EmbeddedBroker(config={"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


def leave_hanging(broker: EmbeddedBroker, topic: str) -> int:
    """Writes a record of a transaction that no coordinator knows. Returns the producer id."""
    with BrokerConnection(broker.bootstrap, {}, seconds_max=60) as connection:
        producer_id: int = connection.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)).producer_id
        record = Record(0, time.time_ns() // 1_000_000, None, b"x")
        batch = build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=bytes(batch))])
        request = ProduceRequest(transactional_id="lost", acks=-1, timeout_ms=1000, topic_data=[data])
        response = connection.ask(request, version_max=LAST_PRODUCE_WITHOUT_IMPLICIT_PARTITIONS)
        assert response.responses[0].partition_responses[0].error_code == 0
    return producer_id


def test_a_hanging_transaction_is_found_and_aborted(careless: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("local", careless.bootstrap, production=True)) as console:
        client = console.client()
        client.post("/clusters/local/topics", name="orders", partitions=2, confirm="local")
        producer_id = leave_hanging(careless, "orders")
        alive = begun(careless, "alive", "orders")
        hanging = f"{TRANSACTIONS}/hanging"
        assert client.get(hanging)["transactions"] == []
        for scope in ({}, {"topic": "orders"}):
            (found,) = client.get(hanging, minutes=0, **scope)["transactions"]
            assert (found["topic"], found["partition"], found["producer_id"], found["start_offset"]) == ("orders", 0, producer_id, 0)
        assert str(producer_id) in client.page(hanging, minutes=0)
        place = {"topic": "orders", "partition": 0, "start_offset": 0}
        guarded = client.try_post(f"{TRANSACTIONS}/abort", **place)
        assert (guarded.status_code, guarded.json()["parameter"]) == (400, "confirm")
        done = client.post(f"{TRANSACTIONS}/abort", **place, confirm="local")
        assert done["done"] == f"The transaction of producer {producer_id} in partition 0 of topic orders is aborted."
        assert client.get(hanging, minutes=0)["transactions"] == []
        alive.commit_transaction(60)
        assert client.try_post(f"{TRANSACTIONS}/abort", **place, confirm="local").status_code == 404
