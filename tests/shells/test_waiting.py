"""A wait ends with the first true value, or with a sentence that names the awaited state."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit import simulated
from tests.waiting import until, until_async


def test_a_wait_returns_the_first_true_value() -> None:
    values = iter([None, 0, "ready"])
    assert until(lambda: next(values), "the value is ready") == "ready"


def test_a_wait_that_fails_names_the_state_and_the_last_value() -> None:
    with pytest.raises(AssertionError, match=r"^not within 0.02 s: the broker answers; last seen: \[\]$"):
        until(list, "the broker answers", seconds_max=0.02)
    with pytest.raises(AssertionError, match="last seen: two of three"):
        until(lambda: False, "all are there", seen=lambda: "two of three", seconds_max=0)


def test_an_expected_error_is_retried_and_shown_at_the_end() -> None:
    with pytest.raises(AssertionError, match=r"last seen: ZeroDivisionError") as failure:
        until(lambda: 1 // 0, "division by zero works", retry_on=ZeroDivisionError, seconds_max=0.02)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_an_unexpected_error_ends_the_wait_at_once() -> None:
    with pytest.raises(ZeroDivisionError):
        until(lambda: 1 // 0, "division by zero works", retry_on=ValueError)


def test_a_wait_on_a_simulated_loop_takes_simulated_time() -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        await until_async(lambda: loop.time() >= 100, "a hundred seconds pass")
        with pytest.raises(AssertionError, match="not within 50 s: the moon falls"):
            await until_async(lambda: False, "the moon falls", seconds_max=50)
        return loop.time()

    assert simulated.run(scenario()) == pytest.approx(150, abs=1)
