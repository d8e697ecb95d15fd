"""Options of a reset, read without a cluster."""

from __future__ import annotations

import pytest

from barnabas.administration.offset_reset import Partition, ToPlanned, ToTime
from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import parse_partitions
from barnabas.cli.groups.reset_target import parse_datetime, parse_duration, parse_plan

ORDERS = Partition("orders", 0)


def test_times_without_a_zone_are_utc() -> None:
    assert parse_datetime("1970-01-01T00:00:01.500") == ToTime(1500)
    assert parse_datetime("1970-01-01T00:00:01Z") == ToTime(1000)
    assert parse_datetime("1970-01-01T01:00:00.000+01:00") == ToTime(0)
    with pytest.raises(Refused, match="--to-datetime takes a time"):
        parse_datetime("yesterday")


def test_durations_count_back_from_now() -> None:
    now_ms = 10 * 86_400_000
    assert parse_duration("P1DT2H3M4.5S", now_ms=now_ms) == ToTime(now_ms - 86_400_000 - 7_200_000 - 180_000 - 4500)
    assert parse_duration("PT10M", now_ms=now_ms) == ToTime(now_ms - 600_000)
    assert parse_duration("P0D", now_ms=now_ms) == ToTime(now_ms)
    assert parse_duration("P99D", now_ms=now_ms) == ToTime(0)


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "P1Y", "P1M", "-P1D", "PT1D", f"P{'9' * 30}D"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="--by-duration"):
        parse_duration(text, now_ms=0)


def test_a_plan_covers_one_group_or_several() -> None:
    assert parse_plan(["orders,0,5", "", "orders,1,6"], "g", "f") == ToPlanned({ORDERS: 5, Partition("orders", 1): 6})
    assert parse_plan(["g,orders,0,5", "h,orders,0,6"], "g", "f") == ToPlanned({ORDERS: 5})
    with pytest.raises(Refused, match="f has no offsets of group g"):
        parse_plan(["h,orders,0,6"], "g", "f")
    for line in ("orders,0", "orders,zero,5", "g,orders,0,5,x"):
        with pytest.raises(Refused, match=f"but line 2 is '{line}'"):
            parse_plan(["orders,0,5", line], "g", "f")


def test_topics_are_named_as_a_whole_or_with_partitions() -> None:
    assert parse_partitions(["orders", "paid:0,2", "paid:1"]) == {"orders": set(), "paid": {0, 1, 2}}
    # The whole topic includes its partitions.
    assert parse_partitions(["orders:1", "orders", "orders:2"]) == {"orders": set()}
    for text in ("", ":1", "orders:", "orders:one", "orders:1,"):
        with pytest.raises(Refused, match="--topic takes a topic"):
            parse_partitions([text])
