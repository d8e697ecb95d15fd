"""Numbers, times and names in tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from barnabas.pipelines.display_text import age, amount, duration, shortened, size, to_the_second


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (8, "8"),
        (12_345, "12,345"),
        (99_999, "99,999"),
        (100_000, "100.0 k"),
        (999_960, "1.0 M"),
        (2.5e9, "2.5 G"),
        (5e15, "5,000 T"),
    ],
)
def test_large_amounts_have_a_unit(number: float, text: str) -> None:
    assert amount(number) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0.00 s"), (500, "0.50 s"), (12_345, "12.3 s"), (300_000, "5 min"), (10_800_000, "3 h"), (2e8, "2 d")]
)
def test_durations_are_seconds_or_more(milliseconds: float, text: str) -> None:
    assert duration(milliseconds) == text


def test_times_have_no_fractions_of_seconds() -> None:
    assert to_the_second("2030-01-31T12:00:00.123456+00:00") == "2030-01-31T12:00:00Z"
    assert to_the_second("2030-01-31T14:00:00.5+02:00") == "2030-01-31T12:00:00Z"
    now = datetime(2030, 1, 31, 12, 0, 42, tzinfo=UTC)
    assert age("2030-01-31T12:00:00.123456Z", now) == "42 s ago"
    assert age("2030-01-31T11:00:00Z", now) == "61 min ago"


def test_long_names_are_cut_in_the_middle() -> None:
    assert shortened("short", 5) == "short"
    assert shortened("payments.eu-west.orders.v2", 15) == "payment…ders.v2"
    assert len(shortened("x" * 300, 33)) == 33


def test_sizes_are_shown_in_fitting_units() -> None:
    assert [size(each) for each in (0, 1023, 2048, 5 << 20, 3 << 30)] == ["0 B", "1023 B", "2 KiB", "5 MiB", "3.0 GiB"]
