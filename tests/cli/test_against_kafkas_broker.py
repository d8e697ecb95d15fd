"""The commands speak Kafka's protocol, so they work with Apache Kafka as with our node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from peers.apache_kafka import apache_kafka, why_missing
from tests.cli.running import Cli
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))]


@pytest.fixture(scope="module")
def cli() -> Iterator[Cli]:
    with apache_kafka() as (bootstrap, _):
        yield Cli(bootstrap)


def test_topics_and_records_work_on_apache_kafka(cli: Cli) -> None:
    cli("topics", "create", "orders", "--partitions", 2, "--config", "retention.ms=1000000").worked()
    cli("produce", "orders", "--key-separator", "=", "--compression", "lz4", "--idempotent", stdin=b"a=1\nb=2\nc=3\n").worked()
    assert sorted(cli("consume", "orders", "--from-beginning", "--until-end").text.split()) == ["1", "2", "3"]
    (topic,) = cli("topics", "describe", "orders", "--json").json
    assert sum(each["end_offset"] for each in topic["partitions"]) == 3
    assert sum(each["size_bytes"] for each in topic["partitions"]) > 61
    own = {each["name"]: each["value"] for each in topic["configs"] if each["source"] == "DYNAMIC_TOPIC_CONFIG"}
    assert own == {"retention.ms": "1000000"}
    cli("topics", "alter", "orders", "--partitions", 3).worked()
    assert "already exists" in cli("topics", "create", "orders").complaint
    cli("topics", "delete", "orders").worked()
    # The controller has deleted it; Kafka's brokers learn of it a little later.
    until(lambda: not cli("topics", "list", "--json").json, "the topic is gone")


def _transactional_producer(cli: Cli) -> Producer:
    """Its first request creates ``__transaction_state``."""
    producer = Producer({"bootstrap.servers": cli.environment["BARNABAS_BOOTSTRAP"], "transactional.id": "tx", "log_level": 0})
    producer.init_transactions(60)
    return producer


def test_aborted_transactions_are_shown_only_on_request(cli: Cli) -> None:
    cli("topics", "create", "paid").worked()
    producer = _transactional_producer(cli)
    for value, finish in (("kept", producer.commit_transaction), ("dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce("paid", value)
        producer.flush()
        finish(60)
    words = ("consume", "paid", "--from-beginning", "--until-end")
    assert cli(*words).text == "kept\n"
    assert cli(*words, "--isolation", "read_uncommitted").text == "kept\ndropped\n"
    cli("topics", "delete", "paid").worked()


def test_internal_topics_are_listed_on_request(cli: Cli) -> None:
    _transactional_producer(cli)
    assert "__transaction_state" not in {each["name"] for each in cli("topics", "list", "--json").json}
    internal = {each["name"]: each["internal"] for each in cli("topics", "list", "--internal", "--json").json}
    assert internal["__transaction_state"] is True


@pytest.mark.parametrize(
    ("words", "name", "value", "source"),
    [
        (("--broker", 1), "log.cleaner.threads", "2", "DYNAMIC_BROKER_CONFIG"),
        (("--broker-defaults",), "log.retention.ms", "5000000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        (("--group", "g"), "consumer.session.timeout.ms", "50000", "DYNAMIC_GROUP_CONFIG"),
        (("--client-metrics", "m"), "interval.ms", "5000", "DYNAMIC_CLIENT_METRICS_CONFIG"),
    ],
)
def test_settings_of_every_kind_work_on_apache_kafka(cli: Cli, words: tuple[object, ...], name: str, value: str, source: str) -> None:
    def described() -> set[tuple[str, str, str]]:
        return {(each["name"], each["value"], each["source"]) for each in cli("configs", "describe", *words, "--json").json}

    cli("configs", "alter", *words, "--set", f"{name}={value}").worked()
    # Kafka's broker applies a little later what its controller has answered.
    until(lambda: (name, value, source) in described(), f"{name} is {value}")
    cli("configs", "alter", *words, "--delete", name).worked()
    until(lambda: (name, value, source) not in described(), f"{name} is not {value} any more")


def test_loggers_work_on_apache_kafka(cli: Cli) -> None:
    words = ("--broker-logger", 1)
    cli("configs", "alter", *words, "--set", "root=WARN").worked()
    levels = {each["name"]: each["value"] for each in cli("configs", "describe", *words, "--json").json}
    assert levels["root"] == "WARN"
