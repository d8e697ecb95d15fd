"""Reads the text that nodes show to Prometheus. Pure.

Only lines of names that are asked for are read, so a page with thousands of series costs little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

_LINE: Final = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? ([^ ]+)(?: -?\d+)?")
_LABEL: Final = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
# Lines of one page that are read. A node has some hundred series for each API and topic.
LINES_MAX: Final = 200_000


class Reading(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def read_metrics(text: str, names: Collection[str]) -> Iterator[Reading]:
    """Lines that cannot be read are left out: a page may be of another program."""
    for number, line in enumerate(text.splitlines()):
        if number >= LINES_MAX:
            return
        if line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None or found[1] not in names:
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if math.isfinite(value):
            yield Reading(found[1], dict(_LABEL.findall(found[2] or "")), value)
