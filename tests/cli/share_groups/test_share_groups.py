"""``barnabas share-groups`` beside a broker and members of librdkafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import AcknowledgeType, ShareConsumer

from barnabas.testing import EmbeddedBroker
from tests.cli.narrow_terminal import COLUMNS, on_terminal
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until


@contextmanager
def member(broker: EmbeddedBroker, topic: str, *answers: AcknowledgeType) -> Iterator[ShareConsumer]:
    """A member of the group that is called like its topic. It acknowledges the first records, one
    by one."""
    settings = {"group.id": topic, "client.id": "me", "share.acknowledgement.mode": "explicit", "log_level": 0}
    consumer = ShareConsumer({"bootstrap.servers": broker.bootstrap, **settings})
    consumer.subscribe([topic])
    try:
        records = until(lambda: list(consumer.poll(0.5)), "records arrive", pause_seconds=0)
        for record, answer in zip(records, answers, strict=True):
            consumer.acknowledge(record, answer)
        assert not any(consumer.commit_sync(PATIENCE_SECONDS).values())
        yield consumer
    finally:
        consumer.close()


def offsets(cli: Cli, group: str) -> dict[int, tuple[int | None, int | None]]:
    rows = cli("share-groups", "describe", group, "--json").json["offsets"]
    return {row["partition"]: (row["start_offset"], row["lag"]) for row in rows}


def test_a_group_with_a_member_is_listed_and_described(cli: Cli, broker: EmbeddedBroker, orders: str) -> None:
    accept = AcknowledgeType.ACCEPT
    with member(broker, orders, accept, accept, accept):
        assert [orders, "Stable", "1"] in cli("share-groups", "list").rows
        assert {"group": orders, "state": "Stable", "coordinator": 1} in cli("share-groups", "list", "--json").json
        assert [orders, "Stable", "1"] not in cli("share-groups", "list", "--state", "empty").rows
        assert [orders, "share", "Share", "Stable"] in cli("groups", "list", "--type", "share").rows
        described = cli("share-groups", "describe", orders, "--state", "--members", "--json").json
        assert (described["state"], described["assignor"], described["member_count"]) == ("Stable", "simple", 1)
        (shown,) = described["members"]
        assert (shown["client_id"], shown["topics"], shown["assignment"]) == ("me", [orders], {orders: [0, 1]})
        until(lambda: offsets(cli, orders)[0][1] == 0, "all records are delivered", seen=lambda: offsets(cli, orders))
        (row,) = cli("share-groups", "describe", orders, "--members").rows
        assert row[1:5] == ["/127.0.0.1", "me", "2", f"{orders}:0,1"]
    assert cli("share-groups", "describe", orders, "--members").text == f"Group {orders} has no members.\n"


def test_a_group_with_members_keeps_its_offsets_and_itself(cli: Cli, broker: EmbeddedBroker, orders: str) -> None:
    accept = AcknowledgeType.ACCEPT
    with member(broker, orders, accept, accept, accept):
        reset = cli("share-groups", "reset-offsets", orders, "--all-topics", "--to-earliest", "--execute")
        assert reset.complaint == f"Offsets can only be reset while a share group has no members, but {orders} has 1."
        assert cli("share-groups", "delete", orders).complaint == f"Group {orders} has members, so it cannot be deleted."
        deleted = cli("share-groups", "delete-offsets", orders, "--topic", orders)
        assert deleted.complaint == f"Share group {orders} has members, so its offsets cannot be deleted."


def test_deliveries_are_counted(cli: Cli, broker: EmbeddedBroker, orders: str) -> None:
    with member(broker, orders, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.ACCEPT):
        found = cli("share-groups", "describe", orders, "--deliveries", "--json").json["deliveries"]
    assert [(each["first_offset"], each["last_offset"], each["state"], each["deliveries"]) for each in found] == [
        (0, 0, "Available", 1),
        (1, 1, "Archived", 1),
        (2, 2, "Acknowledged", 1),
    ]
    assert cli("share-groups", "describe", orders, "--deliveries").rows[0][2:] == ["0", "0", "Available", "1"]


def test_offsets_are_reset_only_when_executed(cli: Cli, orders: str, tmp_path: Path) -> None:
    reset = ("share-groups", "reset-offsets", orders)
    dry = cli(*reset, "--topic", orders, "--to-latest").text
    assert dry.endswith("\nNothing was changed; --execute sets these offsets.\n")
    assert cli("share-groups", "describe", orders).complaint == f"There is no share group {orders}."
    cli(*reset, "--topic", orders, "--to-latest", "--execute").worked()
    assert offsets(cli, orders) == {0: (3, 0), 1: (0, 0)}
    cli(*reset, "--topic", f"{orders}:0", "--to-offset", 1, "--execute").worked()
    assert offsets(cli, orders) == {0: (1, 2), 1: (0, 0)}
    cli(*reset, "--topic", f"{orders}:0", "--shift-by", 1, "--execute").worked()
    plan = tmp_path / "plan.csv"
    plan.write_bytes(cli(*reset, "--all-topics", "--to-current", "--export").out)
    assert plan.read_text() == f"{orders},0,2\n{orders},1,0\n"
    cli(*reset, "--all-topics", "--to-earliest", "--execute").worked()
    assert offsets(cli, orders) == {0: (0, 3), 1: (0, 0)}
    cli(*reset, "--from-file", plan, "--execute").worked()
    assert offsets(cli, orders) == {0: (2, 1), 1: (0, 0)}


def test_offsets_and_groups_are_deleted(cli: Cli, orders: str) -> None:
    cli("share-groups", "reset-offsets", orders, "--topic", orders, "--to-earliest", "--execute").worked()
    delete = ("share-groups", "delete-offsets", orders, "--topic", orders)
    assert cli(*delete).text == f"Deleted the offsets of share group {orders} in topic {orders}.\n"
    assert cli(*delete).complaint == f"Share group {orders} has no offsets in topic {orders}."
    assert cli("share-groups", "describe", orders).text == f"Group {orders} has no offsets.\n"
    assert cli("share-groups", "delete", orders).text == f"Deleted group {orders}.\n"
    assert cli("share-groups", "delete", orders).complaint == f"There is no share group {orders}."


def test_groups_of_other_kinds_are_no_share_groups(cli: Cli, orders: str) -> None:
    group = f"{orders}-consumers"
    cli("groups", "reset-offsets", group, "--topic", orders, "--to-earliest", "--execute").worked()
    for words in (("describe", group), ("delete", group)):
        assert cli("share-groups", *words).complaint == f"There is no share group {group}."
    cli("groups", "delete", group).worked()


def test_tables_do_not_exceed_the_terminal(cli: Cli, orders: str) -> None:
    cli("share-groups", "reset-offsets", orders, "--topic", orders, "--to-earliest", "--execute").worked()
    for words in (("list",), ("describe", orders), ("describe", orders, "--state", "--members", "--deliveries"), ("list", "--help")):
        lines = on_terminal(cli, "share-groups", *words)
        assert max(map(len, lines)) <= COLUMNS, (words, lines)
