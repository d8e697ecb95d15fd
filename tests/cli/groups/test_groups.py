"""``barnabas groups`` beside a broker and consumers of both protocols."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

PROTOCOLS = ("classic", "consumer")
KINDS = {"classic": "Classic", "consumer": "Consumer"}


@pytest.fixture
def orders(kafka: EmbeddedBroker) -> str:
    """A topic with three records in partition 0, none in partition 1."""
    cli = Cli(kafka.bootstrap)
    cli("topics", "create", "orders", "--partitions", 2).worked()
    cli("produce", "orders", "--partition", 0, stdin=b"a\nb\nc\n").worked()
    return "orders"


@contextmanager
def member(kafka: EmbeddedBroker, group: str, topic: str, protocol: str = "classic", **more: Any) -> Iterator[Consumer]:
    """A consumer that has partitions assigned, has read one record and committed it; yields its
    member id."""
    settings = {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest", "client.id": "me", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "enable.auto.commit": False, **settings, **more})
    try:
        consumer.subscribe([topic])
        assert consumer.poll(PATIENCE_SECONDS) is not None
        consumer.commit(asynchronous=False)
        # In the new protocol a member acknowledges its assignment with its next heartbeat.
        until(lambda: Cli(kafka.bootstrap)("groups", "describe", group, "--json").json["state"] == "Stable", "the group is stable")
        yield consumer
    finally:
        consumer.close()


def commit(kafka: EmbeddedBroker, group: str, **offsets: int) -> None:
    """As consumers with manual assignment do: the group has offsets and never had members."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset) for topic, offset in offsets.items()], asynchronous=False)
    consumer.close()


def committed(cli: Cli, group: str) -> dict[tuple[str, int], int]:
    return {(each["topic"], each["partition"]): each["offset"] for each in cli("groups", "describe", group, "--json").json["offsets"]}


def test_a_cluster_without_groups_lists_none(cli: Cli) -> None:
    assert cli("groups", "list").text == ""
    assert cli("groups", "list", "--json").json == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_groups_are_listed_with_kind_and_state_and_filtered_by_both(kafka: EmbeddedBroker, cli: Cli, orders: str, protocol: str) -> None:
    commit(kafka, "simple", orders=1)
    with member(kafka, "readers", orders, protocol):
        assert cli("groups", "list").rows == [["readers", "consumer", KINDS[protocol], "Stable"], ["simple", "-", "Classic", "Empty"]]
        assert [each["group"] for each in cli("groups", "list", "--state", "empty", "--json").json] == ["simple"]
        found = {each["group"] for each in cli("groups", "list", "--type", protocol, "--json").json}
        assert found == ({"readers", "simple"} if protocol == "classic" else {"readers"})
    both = cli("groups", "list", "--state", "Stable", "--state", "Empty", "--json").json
    assert [(each["group"], each["state"]) for each in both] == [("readers", "Empty"), ("simple", "Empty")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_is_described_with_offsets_lag_and_members(kafka: EmbeddedBroker, cli: Cli, orders: str, protocol: str) -> None:
    with member(kafka, "readers", orders, protocol):
        described = cli("groups", "describe", "readers", "--offsets", "--members", "--state", "--json").json
        assert (described["kind"], described["state"], described["protocol_type"]) == (KINDS[protocol], "Stable", "consumer")
        assert described["assignor"] == ("range" if protocol == "classic" else "uniform")
        assert described["coordinator"] == {"id": 1, "address": kafka.bootstrap}
        (reader,) = described["members"]
        assert (reader["client_id"], reader["host"], reader["assignment"]) == ("me", "/127.0.0.1", {"orders": [0, 1]})
        who = {"member_id": reader["member_id"], "host": "/127.0.0.1", "client_id": "me"}
        assert described["offsets"] == [
            {"topic": "orders", "partition": 0, "offset": 1, "log_end_offset": 3, "lag": 2, **who},
            {"topic": "orders", "partition": 1, "offset": None, "log_end_offset": 0, "lag": None, **who},
        ]
        assert cli("groups", "describe", "readers").rows[0][:5] == ["orders", "0", "1", "3", "2"]
        assert cli("groups", "describe", "readers", "--members").rows[0][:6] == [
            reader["member_id"],
            "-",
            "/127.0.0.1",
            "me",
            "2",
            "orders:0,1",
        ]
        assert cli("groups", "describe", "readers", "--state").rows[0][:2] == ["readers", f"{kafka.bootstrap} (1)"]
    (left, *_) = cli("groups", "describe", "readers").rows
    assert left == ["orders", "0", "1", "3", "2", "-", "-", "-"]
    assert cli("groups", "describe", "readers", "--members").text == "Group readers has no members.\n"


def test_members_of_the_new_protocol_show_their_epoch_and_target_assignment(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    with member(kafka, "readers", orders, "consumer"):
        described = cli("groups", "describe", "readers", "--members", "--json").json
        (reader,) = described["members"]
        assert described["epoch"] == described["target_epoch"] == reader["epoch"] > 0
        assert reader["target"] == reader["assignment"]


def test_a_static_member_is_shown_with_its_name(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    with member(kafka, "readers", orders, **{"group.instance.id": "first"}):
        assert cli("groups", "describe", "readers", "--members", "--json").json["members"][0]["instance_id"] == "first"


def test_offsets_of_a_deleted_topic_have_no_lag(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    """Kafka deletes them with the topic, a moment later or earlier; until then they are shown."""
    commit(kafka, "readers", orders=2)
    cli("topics", "delete", orders).worked()
    for each in cli("groups", "describe", "readers", "--json").json["offsets"]:
        assert (each["offset"], each["log_end_offset"], each["lag"]) == (2, None, None)


def test_a_reset_is_a_dry_run_until_it_is_executed(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    commit(kafka, "readers", orders=1)
    dry = cli("groups", "reset-offsets", "readers", "--topic", orders, "--to-latest").text
    assert [line.split() for line in dry.splitlines()[1:3]] == [["orders", "0", "1", "3"], ["orders", "1", "-", "0"]]
    assert dry.endswith("\nNothing was changed; --execute sets these offsets.\n")
    assert committed(cli, "readers") == {("orders", 0): 1}
    assert cli("groups", "reset-offsets", "readers", "--topic", orders, "--to-latest", "--execute").text.endswith(
        "\nReset group readers.\n"
    )
    assert committed(cli, "readers") == {("orders", 0): 3, ("orders", 1): 0}


@pytest.mark.parametrize(
    ("words", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 3),
        (("--to-current",), 2),
        (("--shift-by", -1), 1),
        (("--to-offset", 1), 1),
        (("--by-duration", "P1D"), 0),
        (("--to-datetime", "2001-01-01T00:00:00"), 0),
    ],
)
def test_every_reset_target_gives_its_offset(kafka: EmbeddedBroker, cli: Cli, orders: str, words: tuple[object, ...], offset: int) -> None:
    commit(kafka, "readers", orders=2)
    (row,) = cli("groups", "reset-offsets", "readers", "--all-topics", *words, "--execute", "--json").json
    assert row == {"topic": "orders", "partition": 0, "offset": 2, "new_offset": offset}
    assert committed(cli, "readers") == {("orders", 0): offset}


def test_reset_to_a_datetime_uses_the_first_record_of_that_time(kafka: EmbeddedBroker, cli: Cli) -> None:
    cli("topics", "create", "timed").worked()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    for minute in range(3):
        producer.produce("timed", b"x", timestamp=int(noon.timestamp() * 1000) + minute * 60_000)
        producer.flush()
    (row,) = cli("groups", "reset-offsets", "new", "--topic", "timed:0", "--to-datetime", "2026-01-31T12:00:30.000", "--json").json
    assert (row["offset"], row["new_offset"]) == (None, 1)
    late = cli("groups", "reset-offsets", "new", "--topic", "timed", "--by-duration", "PT0S", "--json")
    assert late.code == 0
    assert late.err == "barnabas: partition 0 of topic timed has no record at or after that time, so its end is used.\n"


def test_an_offset_outside_the_log_is_moved_with_a_remark(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    done = cli("groups", "reset-offsets", "readers", "--topic", f"{orders}:0", "--to-offset", 7, "--execute", "--export")
    assert (done.code, done.out) == (0, b"orders,0,3\n")
    assert done.err == "barnabas: Offset 7 is after the end of partition 0 of topic orders, so 3 is used.\n"
    assert committed(cli, "readers") == {("orders", 0): 3}


def test_an_exported_plan_can_be_imported(kafka: EmbeddedBroker, cli: Cli, orders: str, tmp_path: Path) -> None:
    commit(kafka, "readers", orders=2)
    plan = tmp_path / "plan.csv"
    plan.write_bytes(cli("groups", "reset-offsets", "readers", "--all-topics", "--to-current", "--export").worked().out)
    cli("groups", "reset-offsets", "readers", "--topic", orders, "--to-latest", "--execute").worked()
    cli("groups", "reset-offsets", "readers", "--from-file", plan, "--execute").worked()
    assert committed(cli, "readers")["orders", 0] == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_with_members_keeps_its_offsets_and_itself(kafka: EmbeddedBroker, cli: Cli, orders: str, protocol: str) -> None:
    with member(kafka, "readers", orders, protocol):
        reset = cli("groups", "reset-offsets", "readers", "--all-topics", "--to-earliest", "--execute")
        assert reset.complaint == "Offsets can only be reset while a group has no members, but group readers has 1."
        assert cli("groups", "delete", "readers").complaint == "Group readers has members, so it cannot be deleted."
        kept = cli("groups", "delete-offsets", "readers", "--topic", orders).complaint
        assert kept == "Members of group readers are subscribed to topic orders, so its offsets stay."
        assert committed(cli, "readers")["orders", 0] == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_next_member_reads_from_the_reset_offset(kafka: EmbeddedBroker, cli: Cli, orders: str, protocol: str) -> None:
    with member(kafka, "readers", orders, protocol):
        pass
    cli("groups", "reset-offsets", "readers", "--topic", f"{orders}:0", "--to-offset", 2, "--execute").worked()
    settings = {"group.id": "readers", "group.protocol": protocol, "auto.offset.reset": "latest", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, **settings})
    consumer.subscribe([orders])
    message = consumer.poll(PATIENCE_SECONDS)
    assert message is not None
    assert (message.offset(), message.value()) == (2, b"c")
    consumer.close()


def test_groups_and_single_offsets_are_deleted(kafka: EmbeddedBroker, cli: Cli, orders: str) -> None:
    cli("topics", "create", "paid").worked()
    commit(kafka, "readers", orders=1, paid=0)
    commit(kafka, "others", orders=1)
    gone = cli("groups", "delete-offsets", "readers", "--topic", "orders:0").text
    assert gone == "Deleted the offset of group readers in partition 0 of topic orders.\n"
    assert committed(cli, "readers") == {("paid", 0): 0}
    assert cli("groups", "delete-offsets", "readers", "--topic", "orders").complaint == "Group readers has no offsets in topic orders."
    assert cli("groups", "delete", "readers", "others").text == "Deleted group readers.\nDeleted group others.\n"
    assert cli("groups", "list").text == ""


def test_missing_groups_topics_and_offsets_are_named_in_the_error(cli: Cli, orders: str) -> None:
    for words in (("describe", "nope"), ("delete-offsets", "nope", "--topic", "t")):
        assert cli("groups", *words).complaint == "There is no consumer group nope."
    assert cli("groups", "delete", "nope").complaint == "There is no group nope."
    assert cli("groups", "reset-offsets", "g", "--topic", "nope", "--to-latest").complaint == "There is no topic nope."
    assert cli("groups", "reset-offsets", "g", "--topic", "orders:7", "--to-latest").complaint == "Topic orders has no partition 7."
    assert cli("groups", "reset-offsets", "g", "--all-topics", "--to-latest").text == "Group g has no offsets to reset.\n"


def test_contradicting_options_never_reach_the_broker(tmp_path: Path) -> None:
    nowhere = Cli("127.0.0.1:1")
    reset = ("groups", "reset-offsets", "g")
    assert "exactly one of --to-earliest" in nowhere(*reset, "--all-topics").complaint
    assert "exactly one of --to-earliest" in nowhere(*reset, "--all-topics", "--to-latest", "--shift-by", 1).complaint
    for scope in ((), ("--all-topics", "--topic", "t")):
        assert nowhere(*reset, "--to-latest", *scope).complaint == "Choose the topics with --topic or --all-topics."
    assert "--by-duration takes" in nowhere(*reset, "--all-topics", "--by-duration", "1 day").complaint
    assert nowhere(*reset, "--from-file", tmp_path / "nope").complaint == f"{tmp_path}/nope: No such file or directory."
    (tmp_path / "plan").write_text("orders,0,0\n")
    assert "names the topics" in nowhere(*reset, "--from-file", tmp_path / "plan", "--all-topics").complaint
    assert "'sleepy'" in nowhere("groups", "list", "--state", "sleepy").complaint


def test_group_commands_refuse_other_logins(kafka: EmbeddedBroker, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.cluster.reach.probe", lambda place, *, tls: None)
    monkeypatch.setattr("barnabas.cli.cluster.client.check_login", lambda cluster: None)
    (tmp_path / "client.properties").write_text("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n")
    assert (
        "logs in with PLAIN, SCRAM, OAUTHBEARER with a token"
        in cli("groups", "list", "--config-file", tmp_path / "client.properties").complaint
    )


def test_a_spare_member_is_shown_without_a_partition(kafka: EmbeddedBroker, cli: Cli) -> None:
    cli("topics", "create", "narrow", "--partitions", 1).worked()
    cli("produce", "narrow", stdin=b"a\n").worked()
    with member(kafka, "readers", "narrow") as first:
        spare = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "readers", "client.id": "spare", "log_level": 0})
        spare.subscribe(["narrow"])

        def stable() -> dict[str, Any] | None:
            first.poll(0.05)
            spare.poll(0.05)
            described: dict[str, Any] = cli("groups", "describe", "readers", "--json").json
            return described if described["state"] == "Stable" and described["member_count"] == 2 else None

        described = until(stable, "both members are in a stable group")
        assert [(each["topic"], each["partition"]) for each in described["offsets"]] == [("narrow", 0), (None, None)]
        spare.close()
