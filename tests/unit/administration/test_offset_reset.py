"""The offsets of a reset, decided without a cluster."""

from __future__ import annotations

import pytest

from barnabas.administration.offset_reset import (
    Known,
    LogEnds,
    Partition,
    ResetRefused,
    ShiftBy,
    Target,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToPlanned,
    ToTime,
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
    with pytest.raises(ResetRefused, match="no committed offset to shift in partition 0 of topic orders"):
        plan_reset(ShiftBy(1), [ORDERS], Known(KNOWN.ends))


def test_a_partition_without_a_leader_cannot_be_reset() -> None:
    with pytest.raises(ResetRefused, match="does not exist or has no leader"):
        plan_reset(ToOffset(3), [ORDERS], Known({}))
