"""GetTaxi: prices, matches and the kept positions are those that plain Python computes from the
same morning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from examples.gettaxi.city import BUSY_ZONE, positions, requests
from examples.gettaxi.run import play, show

# Several queries, one after the other: slow on a busy machine.
pytestmark = pytest.mark.timeout(900)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from examples.stage import Stage


def test_prices_rise_where_drivers_are_few_and_each_request_gets_the_nearest(
    stage: Stage, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    play(stage)
    surges = {(each["zone"], _ms(each["minute"])): each["surge"] for each in stage.latest("taxi.surges").values()}
    assert surges == expected_surges()
    assert max(surges, key=lambda place: surges[place])[0] == BUSY_ZONE
    matches = {each["request"]: (each["driver"], each["metres"]) for each in stage.values("taxi.matches")}
    assert matches == expected_matches()
    assert {driver is None for driver, _ in matches.values()} == {True, False}, "some are matched and some are not"
    kept = spark.read.parquet(str(stage.folder / "positions"))
    assert kept.count() == len(positions())
    assert kept.where("zone = 'A-1'").count() == sum(each["zone"] == "A-1" for each in positions())
    show(stage)
    assert "surge by zone and minute" in capsys.readouterr().out


def expected_surges() -> dict[tuple[str, int], float]:
    drivers: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    wanted: defaultdict[tuple[str, int], int] = defaultdict(int)
    for each in positions():
        drivers[each["zone"], _minute(each)].add(each["driver"])
    for each in requests():
        wanted[each["zone"], _minute(each)] += 1
    return {
        place: min(3.0, max(1.0, math.floor(wanted[place] / max(1, len(drivers[place])) * 10 + 0.5) / 10)) for place in {*drivers, *wanted}
    }


def expected_matches() -> dict[int, tuple[str | None, int | None]]:
    """Minute by minute, with a list of all events: the slow way."""
    happened = sorted([*positions(), *requests()], key=lambda each: _ms(each["at"]))
    seen: dict[str, dict[str, Any]] = {}
    riding: dict[str, int] = {}
    found: dict[int, tuple[str | None, int | None]] = {}
    for each in happened:
        now = _ms(each["at"])
        if "driver" in each:
            seen[each["driver"]] = each
            continue
        near = [
            (math.dist((other["x"], other["y"]), (each["x"], each["y"])), driver)
            for driver, other in seen.items()
            if other["zone"] == each["zone"] and now - _ms(other["at"]) <= 30_000 and riding.get(driver, 0) <= now
        ]
        if near:
            metres, driver = min(near)
            riding[driver] = now + each["ride_seconds"] * 1000
            found[each["request"]] = (driver, round(metres))
        else:
            found[each["request"]] = (None, None)
    return found


def _minute(each: dict[str, Any]) -> int:
    return _ms(each["at"]) // 60_000 * 60_000


def _ms(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)
