"""``consume --group`` commits the offsets of printed records, in both group protocols."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

ALL = ("--from-beginning", "--until-end")


@pytest.fixture(params=["classic", "consumer"])
def protocol(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    settings = tmp_path / "client.properties"
    settings.write_text(f"group.protocol={request.param}\n")
    return ("--config-file", settings)


def committed(cli: Cli, group: str) -> dict[tuple[str, int], int]:
    rows = cli("groups", "describe", group, "--json").json["offsets"]
    return {(each["topic"], each["partition"]): each["offset"] for each in rows if each["offset"] is not None}


def test_the_next_run_goes_on_where_the_last_one_stopped(cli: Cli, protocol: tuple[str, Path]) -> None:
    cli("topics", "create", "orders").worked()
    cli("produce", "orders", stdin=b"a\nb\nc\n").worked()
    group = ("--group", "readers", *protocol)
    assert cli("consume", "orders", *group, "--from-beginning", "--max", 2).text == "a\nb\n"
    assert committed(cli, "readers") == {("orders", 0): 2}
    assert cli("consume", "orders", *group, *ALL).text == "c\n"
    assert cli("consume", "orders", *group, *ALL).text == ""
    assert committed(cli, "readers") == {("orders", 0): 3}


def test_records_that_a_filter_drops_count_as_read(cli: Cli) -> None:
    cli("produce", "orders", stdin=b"1\n2\n3\n").worked()
    assert cli("consume", "orders", "-G", "readers", *ALL, "--filter", ". == 2").text == "2\n"
    assert committed(cli, "readers") == {("orders", 0): 3}


def test_topics_of_a_pattern_are_read_by_a_group(cli: Cli, protocol: tuple[str, Path]) -> None:
    for name in ("orders-eu", "orders-us", "other"):
        cli("produce", name, "--value", name).worked()
    lines = cli("consume", "^orders.*", "--group", "readers", *protocol, "--from-beginning", "--max", 2).text
    assert sorted(lines.split()) == ["orders-eu", "orders-us"]
    assert committed(cli, "readers") == {("orders-eu", 0): 1, ("orders-us", 0): 1}


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_member_after_its_commit(cli: Cli, ending: signal.Signals) -> None:
    cli("produce", "orders", stdin=b"a\nb\n").worked()
    process = cli.process("consume", "orders", "--group", "readers", "--from-beginning")
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()] == [b"a\n", b"b\n"]
    process.send_signal(ending)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, err) == (0, b"", b"")
    assert committed(cli, "readers") == {("orders", 0): 2}
    assert cli("groups", "list", "--json").json[0]["state"] == "Empty"


def test_partitions_move_to_a_second_member_together_with_their_offsets(cli: Cli) -> None:
    """Every record is printed once, although the second member starts between them."""
    cli("topics", "create", "orders", "--partitions", 4).worked()
    processes = []
    for number in (1, 2):
        processes.append(cli.process("consume", "orders", "--group", "readers", "--from-beginning"))
        until(lambda: _members_with_partitions(cli) == len(processes), "every member has partitions")
        for partition in range(4):
            cli("produce", "orders", "--partition", partition, "--value", f"{number}-{partition}").worked()
        until(lambda: sum(committed(cli, "readers").values()) == 4 * len(processes), "the records are committed")
    printed = []
    for process in processes:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, err) == (0, b"")
        printed.append(out.decode().split())
    assert sorted(printed[0] + printed[1]) == [f"{number}-{partition}" for number in (1, 2) for partition in range(4)]
    assert printed[1]


def _members_with_partitions(cli: Cli) -> int:
    described = cli("groups", "describe", "readers", "--members", "--json")
    return 0 if described.code else sum(bool(each["assignment"]) for each in described.json["members"])
