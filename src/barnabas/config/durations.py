"""ISO-8601 durations as Java reads them: days, hours, minutes and seconds, each with its own sign
(``P1DT-2H``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import re

_UNITS_MS: Final = (86_400_000, 3_600_000, 60_000, 1_000)
# Far beyond any time a log can span, and far below what would overflow Java's long.
_DIGITS_MAX: Final = 15


def duration_ms(text: str) -> int | None:
    """The whole milliseconds of a duration, or None if the text is not a duration."""
    found = _pattern().fullmatch(text)
    if found is None:
        return None
    sign, *parts, fraction = found.groups()
    # "P" and "PT" alone name no time, and "P1DT" lacks the hours that T announces.
    if not any(parts) or text[-1] in "tT" or any(part and len(part) > _DIGITS_MAX for part in parts):
        return None
    total = sum(int(part) * unit for part, unit in zip(parts, _UNITS_MS, strict=True) if part)
    if fraction:
        thousandths = int(fraction.ljust(9, "0")) // 1_000_000
        total += -thousandths if parts[-1].startswith("-") else thousandths
    return -total if sign == "-" else total


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    import re

    number = r"([-+]?[0-9]+)"
    return re.compile(
        rf"([-+]?)P(?:{number}D)?(?:T(?:{number}H)?(?:{number}M)?(?:{number}(?:[.,]([0-9]{{0,9}}))?S)?)?",
        re.ASCII | re.IGNORECASE,
    )
