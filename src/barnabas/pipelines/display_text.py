"""Numbers, times and names as people read them in a table of 80 columns: few characters, a unit,
and only as many digits as a reader compares.
"""

from __future__ import annotations

from datetime import UTC, datetime

_ELLIPSIS = "…"
# Up to here a number is written out; beyond, three digits and a unit say enough.
_WRITTEN_OUT_MAX = 99_999
_THOUSANDS = ("k", "M", "G", "T")


def amount(number: float) -> str:
    """``8``, ``12,345``, ``1.2 M``."""
    if abs(number) <= _WRITTEN_OUT_MAX:
        return f"{number:,.0f}"
    value = float(number)
    for unit in _THOUSANDS:
        value /= 1000
        if abs(value) < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value:,.0f} {_THOUSANDS[-1]}"


def size(bytes_count: int) -> str:
    value = float(bytes_count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def duration(milliseconds: float) -> str:
    """``0.25 s``, ``12.3 s``, ``5 min``, ``3 h``, ``2 d``."""
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    for unit, length, until in (("min", 60, 100 * 60), ("h", 3600, 48 * 3600)):
        if seconds < until:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def age(moment: str, now: datetime) -> str:
    """``12 s ago``, of a time in ISO's notation."""
    seconds = max(0.0, (now - _parsed(moment)).total_seconds())
    return f"{seconds:.0f} s ago" if seconds < 100 else f"{duration(seconds * 1000)} ago"


def to_the_second(moment: str) -> str:
    """``2030-01-31T12:00:00Z``."""
    return _parsed(moment).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shortened(text: str, width: int) -> str:
    """Cut in the middle: names of one system often begin alike, and differ at the end."""
    if len(text) <= width:
        return text
    kept = max(width - len(_ELLIPSIS), 0)
    front = kept // 2
    return text[:front] + _ELLIPSIS + text[len(text) - (kept - front) :]


def _parsed(moment: str) -> datetime:
    parsed = datetime.fromisoformat(moment)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
