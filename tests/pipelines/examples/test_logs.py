"""Logs and metrics: figures, failures and undecodable lines are those that plain Python finds."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from examples.logs.machines import BAD_MINUTES, BAD_SERVICE, BEGIN, SERVICES, lines, measurements
from examples.logs.run import play, show

# Several queries, one after the other: slow on a busy machine.
pytestmark = pytest.mark.timeout(900)

if TYPE_CHECKING:
    from examples.stage import Stage

Place = tuple[str, int]
LINE = re.compile(r"(\S+) (INFO|WARN|ERROR) (\w+) (\d+)ms ")


def test_slow_requests_failures_and_undecodable_lines_are_found(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    play(stage)
    figures, unreadable = expected_figures()
    found = stage.latest("ops.minutes").values()
    assert {(each["service"], _minute(each["minute"])): (each["lines"], each["errors"]) for each in found} == {
        place: (count, errors) for place, (count, errors, _) in figures.items()
    }
    for each in found:
        assert each["slow_ms"] == pytest.approx(figures[each["service"], _minute(each["minute"])][2])
    troubles = {(each["service"], _minute(each["minute"])) for each in stage.latest("ops.troubles").values()}
    assert troubles == {(BAD_SERVICE, minute) for minute in BAD_MINUTES}
    assert sorted(each["line"] for each in stage.values("ops.unreadable")) == sorted(unreadable) != []
    loads = {(each["host"], each["name"], _minute(each["minute"])): each for each in stage.latest("ops.loads").values()}
    assert {place: (each["average"], each["most"]) for place, each in loads.items()} == expected_loads()
    show(stage)
    assert "services by minute" in capsys.readouterr().out


def expected_figures() -> tuple[dict[Place, tuple[int, int, float]], list[str]]:
    times: defaultdict[Place, list[int]] = defaultdict(list)
    errors: defaultdict[Place, int] = defaultdict(int)
    unreadable = []
    for line in (line for service in SERVICES for line in lines(service)):
        match = LINE.match(line)
        if match is None:
            unreadable.append(line)
            continue
        place = match[3], _minute(match[1])
        times[place].append(int(match[4]))
        errors[place] += match[2] == "ERROR"
    slow = {place: statistics.quantiles(each, n=100, method="inclusive")[94] for place, each in times.items()}
    return {place: (len(each), errors[place], slow[place]) for place, each in times.items()}, unreadable


def expected_loads() -> dict[tuple[str, str, int], tuple[float, int]]:
    values: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    for each in measurements():
        values[each["host"], each["name"], _minute(each["at"])].append(each["value"])
    return {place: (sum(each) / len(each), max(each)) for place, each in values.items()}


def _minute(at: str) -> int:
    return int((datetime.fromisoformat(at) - BEGIN).total_seconds() // 60)
