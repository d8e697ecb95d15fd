from __future__ import annotations

from datetime import datetime

import pytest

from barnabas.cli.errors import Refused
from barnabas.cli.terminal.times import parse_time_ms

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("-1h", NOW_MS - 3_600_000),
        ("-1h30m", NOW_MS - 5_400_000),
        ("-2d", NOW_MS - 172_800_000),
        ("-1w", NOW_MS - 604_800_000),
        ("-90s", NOW_MS - 90_000),
        ("-250ms", NOW_MS - 250),
        ("-999999999999d", 0),
        ("1751371200000", 1_751_371_200_000),
        ("0", 0),
        ("2025-07-01T12:00:00Z", 1_751_371_200_000),
        ("2025-07-01T14:00+02:00", 1_751_371_200_000),
        ("2025-07-01T12:00:00.250Z", 1_751_371_200_250),
    ],
)
def test_a_time_is_a_duration_ago_iso_or_epoch_milliseconds(text: str, time_ms: int) -> None:
    assert parse_time_ms("--from-time", text, now_ms=NOW_MS) == time_ms


def test_a_time_without_a_zone_is_in_the_zone_of_this_machine() -> None:
    expected = int(datetime(2025, 7, 1, 12).astimezone().timestamp() * 1000)
    assert parse_time_ms("--from-time", "2025-07-01T12:00", now_ms=NOW_MS) == expected


@pytest.mark.parametrize("text", ["", "soon", "1h", "-1", "-1y", "-h", "--1h", "-1h 5m", "9" * 16, "2025-13-01"])
def test_another_time_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(Refused, match="--to-time takes a time such as -1h30m, 2026-07-01T12:00:00Z or milliseconds since 1970"):
        parse_time_ms("--to-time", text, now_ms=NOW_MS)
