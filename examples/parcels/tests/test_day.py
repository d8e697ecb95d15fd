"""The day of the depots, checked against the scans that they sent."""

from __future__ import annotations

import pytest

from examples.parcels import first, second
from examples.parcels.day import SCANS, Day, live
from examples.parcels.depots import first_scans, second_scans
from examples.parcels.run import show
from examples.parcels.town import open_town


@pytest.fixture(scope="module")
def day() -> Day:
    with open_town() as town:
        return live(town)


def test_every_reader_sees_every_scan(day: Day) -> None:
    north = day.sent["North, first version"]
    old = [*first_scans("South", SCANS), *first_scans("North", north)]
    new = list(second_scans("South", SCANS))
    of_first = [*old, *(first.Scan(scan.parcel, scan.depot, scan.at) for scan in new)]
    of_second = [*(second.Scan(scan.parcel, scan.depot, scan.at) for scan in old), *new]
    assert sorted(day.read["first"], key=repr) == sorted(of_first, key=repr)
    assert sorted(day.read["second"], key=repr) == sorted(of_second, key=repr)


def test_north_went_on_while_the_schema_evolved(day: Day) -> None:
    assert day.sent["North, first version"] >= 40, "before and after the second version"
    assert day.versions == [1, 2]


def test_the_registry_names_the_difference_of_the_third_version(day: Day) -> None:
    assert "TYPE_MISMATCH" in day.refused_schema
    assert "/fields/0/type" in day.refused_schema


def test_the_broker_refuses_bytes_without_a_schema(day: Day) -> None:
    assert "INVALID_RECORD" in day.refused_bytes


def test_the_run_prints_the_end_of_the_day(day: Day, capsys: pytest.CaptureFixture[str]) -> None:
    show(day)
    printed = capsys.readouterr().out
    assert f"{SCANS} of them have a weight" in printed
    assert "the registry refused the third version" in printed
