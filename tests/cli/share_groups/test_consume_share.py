"""``consume --share`` acknowledges the records that it printed."""

from __future__ import annotations

import signal

import pytest

from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

IDLE = ("--timeout", 3)


def lag(cli: Cli, group: str) -> int | None:
    rows = cli("share-groups", "describe", group, "--json").json["offsets"]
    lags: list[int | None] = [row["lag"] for row in rows if row["partition"] == 0]
    return lags[0]


def test_accepted_records_do_not_come_again(cli: Cli, orders: str) -> None:
    assert cli("consume", orders, "--share", orders, "--max", 2, "--timeout", 30).text == "a\nb\n"
    assert lag(cli, orders) == 1
    assert cli("consume", orders, "--share", orders, "--max", 1, "--timeout", 30).text == "c\n"
    assert lag(cli, orders) == 0


def test_released_records_come_again_and_rejected_ones_do_not(cli: Cli, orders: str) -> None:
    share = ("consume", orders, "--share", orders, "--max", 3, "--timeout", 30)
    assert cli(*share, "--ack", "release").text == "a\nb\nc\n"
    assert cli(*share, "--ack", "reject").text == "a\nb\nc\n"
    assert lag(cli, orders) == 0
    assert cli("consume", orders, "--share", orders, *IDLE).text == ""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_member_after_its_acknowledgements(cli: Cli, orders: str, ending: signal.Signals) -> None:
    process = cli.process("consume", orders, "--share", orders)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(3)] == [b"a\n", b"b\n", b"c\n"]
    process.send_signal(ending)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, err) == (0, b"", b"")
    assert lag(cli, orders) == 0
    assert cli("share-groups", "describe", orders, "--state", "--json").json["member_count"] == 0


def test_two_members_share_the_records(cli: Cli, orders: str) -> None:
    processes = [cli.process("consume", orders, "--share", orders, "--timeout", "8") for _ in range(2)]
    count = ("share-groups", "describe", orders, "--state", "--json")
    until(lambda: cli(*count).code == 0 and cli(*count).json["member_count"] == 2, "both have joined")
    cli("produce", orders, stdin=b"".join(b"%d\n" % number for number in range(100))).worked()
    printed = b"".join(process.communicate(timeout=PATIENCE_SECONDS)[0] for process in processes).split()
    assert sorted(printed) == sorted([b"a", b"b", b"c", *(b"%d" % number for number in range(100))])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--share", ""), "--share cannot be empty."),
        (("--share", "g", "--group", "h"), "--share and --group join groups of different kinds: give one of them."),
        (("--share", "g", "--partition", 0), "--share assigns the partitions, so --partition cannot choose them."),
        (("--ack", "reject"), "--ack is for records of a share group: name one with --share."),
    ],
)
def test_options_that_contradict_each_other_are_refused(cli: Cli, options: tuple[object, ...], complaint: str) -> None:
    assert cli("consume", "t", *options).complaint == complaint


def test_a_share_group_chooses_its_own_start(cli: Cli) -> None:
    for options in (("--from-beginning",), ("--offset", "3"), ("--until-end",)):
        assert "--share starts where the group is." in cli("consume", "t", "--share", "g", *options).complaint
    assert "by their names" in cli("consume", "^t.*", "--share", "g").complaint
