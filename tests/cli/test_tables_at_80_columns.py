"""Every list on a terminal of 80 columns: nothing is wider, and an empty one is a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from tests.cli.narrow_terminal import COLUMNS, on_terminal
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS

LONG = "a-topic-whose-name-is-so-long-that-no-table-of-eighty-columns-has-room-for-it.and.more"

EMPTY = [
    (("topics", "list"), "There are no topics; --internal lists internal ones too."),
    (("topics", "list", "--unavailable"), "There are no such partitions."),
    (("topics", "describe"), "There are no topics."),
    (("groups", "list"), "There are no groups."),
    (("share-groups", "list"), "There are no share groups."),
    (("streams-groups", "list"), "There are no streams groups."),
    (("transactions", "list"), "There are no transactions."),
    (("transactions", "find-hanging"), "No transaction hangs."),
    (("client-metrics", "list"), "There are no subscriptions."),
    (("reassign", "list"), "No partition is being reassigned."),
    (("profile", "list"), "There are no profiles; `barnabas profile add` saves one."),
]


def test_an_empty_list_is_a_sentence_on_a_terminal_and_nothing_in_a_pipe(cli: Cli) -> None:
    for words, sentence in EMPTY:
        assert on_terminal(cli, *words) == [sentence]
        assert cli(*words).text == ""
        assert cli(*words, "--json").json == []


def test_tables_do_not_exceed_the_terminal(cli: Cli) -> None:
    cli("topics", "create", LONG, "--partitions", 2, "--config", "cleanup.policy=compact").worked()
    cli("topics", "create", "short").worked()
    cli("produce", "short", stdin=b"one\ntwo\n").worked()
    matches = [word for label in ("client_software_name=apache-kafka-java", "client_id=payments-.*") for word in ("--match", label)]
    assert cli("client-metrics", "set", "a-subscription", "--metrics", "org.apache.kafka.producer.", *matches).code == 0
    for words in (
        ("topics", "list"),
        ("topics", "describe", "short"),
        ("configs", "describe", "--topic", LONG),
        ("configs", "describe", "--broker", "1", "--all"),
        ("brokers", "list"),
        ("client-metrics", "list"),
        ("client-metrics", "describe", "a-subscription"),
        ("quorum", "describe", "--status", "--replication"),
        ("topics", "list", "--help"),
    ):
        lines = on_terminal(cli, *words)
        assert max(map(len, lines)) <= COLUMNS, (words, max(lines, key=len))
        assert len(lines) > 2, words


def test_tables_with_many_columns_do_not_exceed_the_terminal_either(cli: Cli, kafka: EmbeddedBroker, tmp_path: Path) -> None:
    cli("topics", "create", "orders").worked()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "a-transactional-id-of-some-length", "log_level": 0})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.flush(PATIENCE_SECONDS)
    cli("groups", "reset-offsets", LONG, "--topic", "orders", "--to-earliest", "--execute").worked()
    log = tmp_path / "orders-0" / "00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(bytes(build_batch([Record(0, 1_700_000_000_000, None, b"x")], base_offset=0)))
    for words in (
        ("transactions", "list"),
        ("transactions", "describe", "a-transactional-id-of-some-length"),
        ("transactions", "describe-producers", "--topic", "orders", "--partition", "0"),
        ("transactions", "find-hanging", "--max-transaction-timeout", "0"),
        ("groups", "list"),
        ("groups", "describe", LONG, "--state"),
        ("groups", "describe", LONG, "--offsets"),
        ("log", "info", tmp_path, "--segments"),
    ):
        lines = on_terminal(cli, *words)
        # The path of a directory is a heading and no cell.
        assert max(len(line) for line in lines if not line.startswith("orders-0 in ")) <= COLUMNS, (words, lines)
    described = "\n".join(on_terminal(cli, "transactions", "describe", "a-transactional-id-of-some-length"))
    assert "Timeout           1 min" in described
    assert re.search(r"Duration          [\d.]+ s", described)
    producer.abort_transaction(PATIENCE_SECONDS)


def test_a_long_name_folds_and_can_still_be_read(cli: Cli) -> None:
    cli("topics", "create", LONG).worked()
    lines = on_terminal(cli, "topics", "list")
    assert "".join(line[: line.find("  ")] if "  " in line else line for line in lines[2:]).replace(" ", "") == LONG
    assert cli("topics", "list").rows == [[LONG, "1", "1"]]


def test_durations_are_in_units_for_people(cli: Cli) -> None:
    text = "\n".join(on_terminal(cli, "quorum", "describe", "--status", "--replication"))
    assert " s ago" in text
    assert " ms" not in text


@pytest.mark.parametrize("words", [("topics", "list"), ("brokers", "list")])
def test_json_on_a_terminal_is_json(words: tuple[str, str], kafka: EmbeddedBroker) -> None:
    assert on_terminal(Cli(kafka.bootstrap), *words, "--json")[0].startswith("[")
