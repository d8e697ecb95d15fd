"""The offsets of a reset, decided without a cluster."""

from __future__ import annotations

import pytest

from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import LogEnds, Partition, parse_partitions
from barnabas.cli.groups.reset_target import (
    Known,
    ShiftBy,
    Target,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToPlanned,
    ToTime,
    parse_datetime,
    parse_duration,
    parse_plan,
    plan_reset,
)

ORDERS = Partition("orders", 0)
KNOWN = Known(ends={ORDERS: LogEnds(10, 50)}, committed={ORDERS: 30}, at_time={ORDERS: 20})


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (ToEarliest(), 10),
        (ToLatest(), 50),
        (ToCurrent(), 30),
        (ToTime(1000), 20),
        (ToOffset(33), 33),
        (ShiftBy(-5), 25),
        (ShiftBy(5), 35),
        (ToPlanned({ORDERS: 44}), 44),
    ],
)
def test_each_target_has_its_offset(target: Target, offset: int) -> None:
    plan = plan_reset(target, [ORDERS], KNOWN)
    assert (plan.offsets, plan.remarks) == ({ORDERS: offset}, [])


@pytest.mark.parametrize(
    ("target", "offset", "remark"),
    [
        (ToOffset(9), 10, "Offset 9 is before the start of partition 0 of topic orders, so 10 is used."),
        (ToOffset(51), 50, "Offset 51 is after the end of partition 0 of topic orders, so 50 is used."),
        (ShiftBy(-100), 10, "Offset -70 is before the start of partition 0 of topic orders, so 10 is used."),
        (ToPlanned({ORDERS: 99}), 50, "Offset 99 is after the end of partition 0 of topic orders, so 50 is used."),
    ],
)
def test_an_offset_outside_the_log_is_moved_to_its_nearer_end(target: Target, offset: int, remark: str) -> None:
    plan = plan_reset(target, [ORDERS], KNOWN)
    assert (plan.offsets, plan.remarks) == ({ORDERS: offset}, [remark])


def test_a_time_after_all_records_gives_the_end() -> None:
    plan = plan_reset(ToTime(1000), [ORDERS], Known(KNOWN.ends, at_time={ORDERS: None}))
    assert plan.offsets == {ORDERS: 50}
    assert plan.remarks == ["partition 0 of topic orders has no record at or after that time, so its end is used."]


def test_without_a_committed_offset_current_is_the_end_and_shifting_is_refused() -> None:
    assert plan_reset(ToCurrent(), [ORDERS], Known(KNOWN.ends)).offsets == {ORDERS: 50}
    with pytest.raises(Refused, match="no committed offset to shift in partition 0 of topic orders"):
        plan_reset(ShiftBy(1), [ORDERS], Known(KNOWN.ends))


def test_a_partition_without_a_leader_cannot_be_reset() -> None:
    with pytest.raises(Refused, match="does not exist or has no leader"):
        plan_reset(ToOffset(3), [ORDERS], Known({}))


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
