"""The limits that a client can have, and their values as users write and read them.

A rate of bytes takes ``1MB`` or ``512KiB``, with or without ``/s``; a percentage takes ``10%``. The
percentage is of one thread's time, so it may exceed 100 on a broker with several threads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final


class InvalidLimit(ValueError):
    """A sentence: why a text is no limit or no value of it."""


class Unit(Enum):
    BYTES = "bytes per second"
    PERCENT = "percent of a thread's time"
    COUNT = "per second"


# Kafka's names, in the order in which they are shown.
LIMITS: Final[Mapping[str, Unit]] = {
    "producer_byte_rate": Unit.BYTES,
    "consumer_byte_rate": Unit.BYTES,
    "request_percentage": Unit.PERCENT,
    "controller_mutation_rate": Unit.COUNT,
    "connection_creation_rate": Unit.COUNT,
}
# Kafka limits connections for each address, and all else for users and client ids.
OF_ADDRESSES: Final = frozenset({"connection_creation_rate"})

_NUMBER: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>%|[A-Za-z]*)(?:/s)?", re.ASCII)
_FACTORS: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_SIZES: Final = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3))
_BINARY_SIZES: Final = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def check_limit(name: str) -> str:
    if name not in LIMITS:
        raise InvalidLimit(f"There is no limit {name!r}; there are {', '.join(LIMITS)}.")
    return name


def parse_value(name: str, text: str) -> float:
    unit = LIMITS[check_limit(name)]
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise _refused(name, unit, text)
    number, suffix = float(found["number"]), found["unit"].lower()
    if unit is Unit.BYTES and suffix in _FACTORS:
        number *= _FACTORS[suffix]
    elif not (suffix == "" or (unit is Unit.PERCENT and suffix == "%")):
        raise _refused(name, unit, text)
    if number <= 0:
        raise InvalidLimit(f"{name} takes a number above 0, but was given {text!r}.")
    return number


def value_text(name: str, value: float) -> str:
    """In the unit that keeps every digit: 1 MB/s, 512 KiB/s, 1234567 B/s."""
    match LIMITS.get(name):
        case Unit.BYTES:
            for suffix, size in (*_SIZES, *_BINARY_SIZES):
                if value >= size and round(value / size, 1) * size == value:
                    return f"{value / size:g} {suffix}/s"
            return f"{value:.15g} B/s"
        case Unit.PERCENT:
            return f"{value:.15g} %"
        case Unit.COUNT:
            return f"{value:.15g}/s"
        case _:
            return f"{value:.15g}"


def _refused(name: str, unit: Unit, text: str) -> InvalidLimit:
    example = {Unit.BYTES: "1MB", Unit.PERCENT: "50%", Unit.COUNT: "10"}[unit]
    return InvalidLimit(f"{name} takes a number such as {example} ({unit.value}), but was given {text!r}.")
