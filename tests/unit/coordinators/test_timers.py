"""Deadlines by name: the last call for a name counts, and no timer is due too early."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.timers import Timers
from tests.unit.records.made import repeatable


def says(text: str) -> Any:
    return lambda now_ms: Outcome((text, now_ms))


def run(timers: Timers, now_ms: int) -> list[Any]:
    seen = []
    while (expire := timers.take_due(now_ms)) is not None:
        seen.append(expire(now_ms).answer)
    return seen


def test_due_timers_come_in_the_order_of_time() -> None:
    timers = Timers()
    timers.set("b", 20, says("b"))
    timers.set("a", 10, says("a"))
    timers.set("c", 30, says("c"))
    assert timers.next_deadline_ms == 10
    assert run(timers, 9) == []
    assert run(timers, 20) == [("a", 20), ("b", 20)]
    assert timers.next_deadline_ms == 30
    assert len(timers) == 1


def test_a_timer_of_the_same_name_replaces_the_first() -> None:
    timers = Timers()
    timers.set("a", 10, says("old"))
    timers.set("a", 20, says("new"))
    assert run(timers, 15) == []
    assert run(timers, 20) == [("new", 20)]


def test_a_cancelled_timer_never_comes() -> None:
    timers = Timers()
    timers.set("a", 10, says("a"))
    timers.cancel("a")
    timers.cancel("never was")
    assert timers.next_deadline_ms is None
    assert "a" not in timers
    assert run(timers, 100) == []


def test_a_session_that_is_extended_for_ever_does_not_fill_the_memory() -> None:
    timers = Timers()
    for now_ms in range(10_000):
        timers.set("session", now_ms + 1000, says("x"))
    assert len(timers._heap) < 100


@repeatable
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), st.integers(0, 50)))))
def test_timers_agree_with_a_plain_table(script: list[tuple[str, int | None]]) -> None:
    timers, table = Timers(), dict[str, int]()
    for name, deadline_ms in script:
        if deadline_ms is None:
            timers.cancel(name)
            table.pop(name, None)
        else:
            timers.set(name, deadline_ms, says(name))
            table[name] = deadline_ms
    assert timers.next_deadline_ms == min(table.values(), default=None)
    assert sorted(name for name, _ in run(timers, 25)) == sorted(name for name, deadline_ms in table.items() if deadline_ms <= 25)
