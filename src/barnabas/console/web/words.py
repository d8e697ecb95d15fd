"""Numbers as people read them. Pure."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
NONE: Final = "\N{EN DASH}"


def count_text(number: int | None) -> str:
    return NONE if number is None else f"{number:,}".replace(",", "\u202f")


def bytes_text(size_bytes: int | None) -> str:
    if size_bytes is None or size_bytes < 0:
        return NONE
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 100 else f"{size:.1f} {_UNITS[unit]}"


def duration_text(seconds: float | None) -> str:
    """The two largest units: ``3 h 12 min``."""
    if seconds is None:
        return NONE
    if seconds < 0:
        return "0 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    for size, name, smaller, smaller_name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {smaller_name}" if rest else "")
    return f"{whole} s"


def plural(number: int, one: str, many: str | None = None) -> str:
    return f"{count_text(number)} {one if number == 1 else many or one + 's'}"
