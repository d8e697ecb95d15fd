"""``barnabas client-metrics`` beside brokers with and without a place for clients' metrics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from peers.ports import free_port
from tests.cli.running import Cli


@pytest.fixture(scope="module")
def cli() -> Iterator[Cli]:
    with EmbeddedBroker(config={"barnabas.prometheus.listener": f"127.0.0.1:{free_port()}"}) as kafka:
        yield Cli(kafka.bootstrap)


def test_a_subscription_is_made_changed_shown_and_deleted(cli: Cli) -> None:
    made = cli("client-metrics", "set", "producers", "--metrics", "org.apache.kafka.producer.", "--interval", "30s")
    assert made.text == "Set metrics, interval.ms of the subscription producers.\n"
    changed = cli("client-metrics", "set", "producers", "--match", "client_id=a.*", "--match", "client_software_name=apache-kafka-java")
    assert changed.text == "Set match of the subscription producers.\n"
    cli("client-metrics", "set", "all", "--metrics", "a.", "--metrics", "b.").worked()

    assert cli("client-metrics", "list").rows == [
        ["all", "a., b.", "5 min", "all clients"],
        ["producers", "org.apache.kafka.producer.", "30 s", "client_id=a.*, client_software_name=apache-kafka-java"],
    ]
    assert cli("client-metrics", "list", "--json").json[1] == {
        "name": "producers",
        "metrics": ["org.apache.kafka.producer."],
        "interval_ms": 30_000,
        "match": ["client_id=a.*", "client_software_name=apache-kafka-java"],
    }
    assert cli("client-metrics", "describe", "all").rows == [
        ["metrics", "a.", "own"],
        ["metrics", "b.", "own"],
        ["interval.ms", "300000 (5 min)", "default"],
        ["match", "all clients", "default"],
    ]
    assert cli("client-metrics", "describe", "all", "--json").json["metrics"] == ["a.", "b."]

    assert cli("client-metrics", "delete", "producers").text == "Deleted the subscription producers.\n"
    assert cli("client-metrics", "delete", "all").text == "Deleted the subscription all.\n"
    assert cli("client-metrics", "list", "--json").json == []


def test_a_broker_without_a_place_for_metrics_is_reported(kafka: EmbeddedBroker) -> None:
    done = Cli(kafka.bootstrap)("client-metrics", "set", "all", "--metrics", "*")
    assert done.code == 0
    assert done.err.startswith("No broker keeps clients' metrics yet, so clients push none: set barnabas.prometheus.listener or")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("describe", "x"), "There is no subscription x."),
        (("delete", "x"), "There is no subscription x."),
        (("set", "x"), "Nothing to set: give --metrics, --interval or --match."),
        (("set", "x", "--interval", "soon"), "--interval takes a length of time such as 30m, 12h or 1d12h, but was given 'soon'."),
        (("set", "x", "--match", "client_id=a{1,2}"), "An expression of --match cannot contain a comma, but was given 'a{1,2}'."),
    ],
)
def test_mistakes_are_sentences(cli: Cli, words: tuple[str, ...], complaint: str) -> None:
    assert cli("client-metrics", *words).complaint == complaint


def test_values_that_brokers_refuse_are_sentences(cli: Cli) -> None:
    assert cli("client-metrics", "set", "x", "--interval", "99ms").complaint.startswith("Cannot alter x: ")
    assert cli("client-metrics", "set", "x", "--match", "client_id=(").complaint.startswith("Cannot alter x: ")
    assert "--match takes LABEL=REGEX with one of client_instance_id" in cli("client-metrics", "set", "x", "--match", "id=a").complaint
    assert cli("client-metrics", "list", "--json").json == []
