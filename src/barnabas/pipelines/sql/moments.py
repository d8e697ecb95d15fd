"""Texts of times in ISO 8601, as far as both engines read them alike.

Spark's parser takes many more forms, such as ``2030`` and ``T12:30``. :func:`micros_of` knows for
certain the common ones; :func:`may_be_moment` separates the remaining texts that Spark might take
for a time from those that it certainly does not.
"""

from __future__ import annotations

import datetime
import re

_MOMENT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})?)?",
    re.ASCII,
)
# A year of four to six digits, or a time of day; spaces may surround them.
_LIKE_A_MOMENT = re.compile(r"[\s\x00-\x20]*(?:[+-]?\d{4,6}(?:\D.*)?|T?\d{1,2}:.*)", re.DOTALL)
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - all moments here are in UTC
_MICRO = datetime.timedelta(microseconds=1)
# Offsets of zones that Java accepts.
_ZONE_MINUTES_MAX = 18 * 60
# Python's times begin with the year 1 and end with 9999.
SECONDS_MIN, SECONDS_MAX = -62_135_596_800, 253_402_300_799


def micros_of(text: str) -> int | None:
    """Microseconds since 1970. None: this is not one of the common forms, or no such day exists."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        at = datetime.datetime(  # noqa: DTZ001
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), int((fraction or "")[:6].ljust(6, "0"))
        )
    except ValueError:
        return None
    micros = (at - _EPOCH) // _MICRO
    if zone is None or zone == "Z":
        return micros
    shift = int(zone[1:3]) * 60 + int(zone[4:])
    if int(zone[4:]) > 59 or shift > _ZONE_MINUTES_MAX:
        return None
    micros -= (shift if zone[0] == "+" else -shift) * 60_000_000
    return micros if SECONDS_MIN <= micros // 1_000_000 <= SECONDS_MAX else None


def may_be_moment(text: str) -> bool:
    return _LIKE_A_MOMENT.fullmatch(text) is not None or "GMT" in text
