"""Lengths of time as options take them: ``90s``, ``12h``, ``1d12h``."""

from __future__ import annotations

import re

from barnabas.cli.errors import Refused

# The form that help texts show.
DURATION = "12h|7d|..."
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_WHOLE = re.compile(r"(?:\d{1,12}(?:ms|[smhdw]))+")
_PART = re.compile(r"(\d+)(ms|[smhdw])")


def parse_duration_ms(option: str, text: str) -> int:
    """Raises ``Refused`` with the form that ``option`` takes."""
    if not _WHOLE.fullmatch(text):
        raise Refused(f"{option} takes a length of time such as 30m, 12h or 1d12h, but was given {text!r}.")
    return sum(int(count) * _UNITS_MS[unit] for count, unit in _PART.findall(text))
