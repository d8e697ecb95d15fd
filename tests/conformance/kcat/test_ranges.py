"""The same part of a topic with kcat's ``-o`` and ours."""

from __future__ import annotations

import time

import pytest

from tests.cli.running import Cli
from tests.conformance.kcat.conftest import Kcat

BASE_MS = 1_750_000_000_000
PLACE = "%p/%o\\n"


@pytest.mark.parametrize("offset", ["beginning", "end", "0", "5", "-3", "-1", "-99"])
@pytest.mark.parametrize("partition", [0, 1])
def test_an_offset_starts_where_kcat_starts(kcat: Kcat, cli: Cli, wide: str, offset: str, partition: int) -> None:
    ours = cli("consume", wide, "-p", partition, "-o", offset, "-e", "-f", PLACE).worked().out
    assert ours == kcat("-C", "-q", "-e", "-t", wide, "-p", partition, "-o", offset, "-f", PLACE)


@pytest.mark.parametrize(("since", "until"), [(0, None), (3000, None), (3001, None), (3000, 6000), (2500, 2900), (0, 6500), (0, 19_000)])
def test_times_choose_the_records_that_kcat_chooses(kcat: Kcat, cli: Cli, wide: str, since: int, until: int | None) -> None:
    """Of partition 0 alone: kcat ends all partitions when the first one reaches the end."""
    ours, theirs = ["--from-time", BASE_MS + since], ["-o", f"s@{BASE_MS + since}"]
    if until is not None:
        ours += ["--to-time", BASE_MS + until]
        theirs += ["-o", f"e@{BASE_MS + until}"]
    printed = cli("consume", wide, "-p", 0, *ours, "-e", "-f", PLACE).worked().out
    assert printed == kcat("-C", "-q", "-e", "-t", wide, "-p", 0, *theirs, "-f", PLACE)
    assert printed or since == 2500


@pytest.mark.parametrize("count", [1, 4, 20])
def test_a_count_ends_both(kcat: Kcat, cli: Cli, wide: str, count: int) -> None:
    ours = cli("consume", wide, "-p", 0, "-o", "beginning", "-c", count).worked().out
    assert ours == kcat("-C", "-q", "-t", wide, "-p", 0, "-o", "beginning", "-c", count)


def test_all_partitions_are_read_by_both(kcat: Kcat, cli: Cli, wide: str) -> None:
    ours = cli("consume", wide, "-e").worked().out
    assert sorted(ours.splitlines()) == sorted(kcat("-C", "-q", "-e", "-t", wide).splitlines())


def test_a_group_goes_on_where_kcat_stopped_and_the_other_way_round(kcat: Kcat, cli: Cli, broker: object) -> None:
    cli("topics", "create", "shared").worked()
    cli("produce", "shared", stdin=b"".join(b"%d\n" % number for number in range(9))).worked()
    earliest = ("-X", "auto.offset.reset=earliest")
    assert kcat("-q", "-G", "both", "-c", 3, *earliest, "shared") == b"0\n1\n2\n"
    assert cli("consume", "shared", "-G", "both", "-c", 3).worked().out == b"3\n4\n5\n"
    assert kcat("-q", "-e", "-G", "both", *earliest, "shared") == b"6\n7\n8\n"
    assert cli("consume", "shared", "-G", "both", "-e").worked().out == b""


def test_a_pattern_subscribes_to_the_topics_that_kcat_subscribes_to(kcat: Kcat, cli: Cli) -> None:
    marker = f"pattern{time.time_ns()}"
    for name in ("-a", "-b.c", "x", ""):
        cli("produce", f"{marker}{name}", "--value", f"in{name}").worked()
    for pattern in (f"^{marker}-", f"^{marker}", f"^{marker}$", f"^{marker}-b[.]"):
        theirs = kcat("-q", "-e", "-G", f"kcat{pattern[1:]}", "-X", "auto.offset.reset=earliest", pattern)
        assert sorted(cli("consume", pattern, "-o", "beginning", "-e").worked().out.split()) == sorted(theirs.split())
