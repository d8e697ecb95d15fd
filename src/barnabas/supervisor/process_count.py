"""How many processes share a machine: a number, or ``auto``."""

from __future__ import annotations

import os
import sys
from typing import Final

from barnabas.config.values import read_integer

PROCESSES_VARIABLE: Final = "BARNABAS_PROCESSES"
AUTO: Final = "auto"
# Each process is an interpreter of about 50 MB, and brokers keep connections to each other.
PROCESSES_MAX: Final = 256


def usable_cores() -> int:
    """The cores that this process may run on, which taskset, systemd and Docker can restrict."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def process_count(text: str, *, cores: int, option: str = "--processes", count_max: int = PROCESSES_MAX) -> int:
    """``auto`` is one process for each core: the event loop of a node is one thread, so it keeps at
    most one core busy, and a second process on the same core adds the cost of switching between
    them. Raises ``ValueError`` with a sentence."""
    if text == AUTO:
        return min(cores, count_max)
    count = read_integer(text)
    if count is None or not 1 <= count <= count_max:
        raise ValueError(f"{option} must be {AUTO} or a number from 1 to {count_max}, but is {text!r}.")
    return count
