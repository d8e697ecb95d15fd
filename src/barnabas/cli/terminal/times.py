"""Points in time as options take them: ``-1h``, ISO 8601, or milliseconds since 1970.

A time without a zone is in this machine's zone, because the user reads it off this machine's clock.
"""

from __future__ import annotations

import re
from datetime import datetime

from barnabas.cli.errors import Refused

# The form that help texts show.
TIME = "-1h|ISO|MS"
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGO = re.compile(r"-((?:\d{1,15}(?:ms|[smhdw]))+)")
_PART = re.compile(r"(\d+)(ms|[smhdw])")
# Fifteen digits reach far beyond the year 9999.
_EPOCH_MS = re.compile(r"\d{1,15}")


def parse_time_ms(option: str, text: str, *, now_ms: int) -> int:
    """Raises ``Refused`` with the forms that ``option`` takes."""
    if ago := _AGO.fullmatch(text):
        # Timestamps below zero have special meanings, and no record is that old.
        return max(0, now_ms - sum(int(count) * _UNITS_MS[unit] for count, unit in _PART.findall(ago[1])))
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    try:
        return int(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise Refused(
            f"{option} takes a time such as -1h30m, 2026-07-01T12:00:00Z or milliseconds since 1970, but was given {text!r}."
        ) from error
