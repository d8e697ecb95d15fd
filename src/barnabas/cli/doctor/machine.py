"""The machine: descriptors, clock, swapping."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable
from pathlib import Path

from barnabas.cli.doctor.finding import Finding, ok, warning
from barnabas.env.descriptors import UNLIMITED_STANDS_FOR, Descriptors

# With fewer, hundreds of clients or thousands of partitions come to the limit.
DESCRIPTORS_MIN = 10_000
# No release of Barnabas is older than this: 2025-01-01.
EARLIEST_SECONDS = 1_735_689_600
CLOCK_SAMPLE_SECONDS = 0.05
CLOCK_DRIFT_SECONDS_MAX = 0.02
SWAPPINESS_MAX = 10

_PROC = Path("/proc")


def descriptors() -> Iterable[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = UNLIMITED_STANDS_FOR[0] if hard == resource.RLIM_INFINITY else hard
    afforded = Descriptors(limit)
    # A node raises its own limit to the hard one.
    fact = (
        f"A node may open {limit:,} descriptors (soft limit {soft:,}): up to {afforded.connections_max:,} connections,"
        f" and {afforded.files_min:,} files in any case."
    )
    if limit < DESCRIPTORS_MIN:
        advice = f"Raise the hard limit to {DESCRIPTORS_MIN:,} or more: LimitNOFILE= of systemd, --ulimit of Docker, or limits.conf."
        yield warning("descriptors", fact, advice)
    else:
        yield ok("descriptors", fact)


def clock() -> Iterable[Finding]:
    now, zone = time.time(), f"{time.strftime('%Z')}, UTC{time.strftime('%z')}"
    shown = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now))
    if now < EARLIEST_SECONDS:
        fact = f"The clock says {shown} UTC, which is in the past."
        yield warning("clock", fact, "Set the clock, for example with NTP: retention deletes records by their timestamps.")
        return
    wall, monotonic = time.time(), time.monotonic()
    time.sleep(CLOCK_SAMPLE_SECONDS)
    drift = abs((time.time() - wall) - (time.monotonic() - monotonic))
    if drift > CLOCK_DRIFT_SECONDS_MAX:
        fact = f"The clock jumped by {drift:.3f} s within {CLOCK_SAMPLE_SECONDS} s."
        yield warning("clock", fact, "Let NTP slew the clock rather than step it.")
    else:
        yield ok("clock", f"{shown} UTC ({zone}); the clock runs evenly.")


def swapping() -> Iterable[Finding]:
    """A node keeps little memory of its own, and a page of it that is swapped out delays the loop.
    It maps no files, so vm.max_map_count has no effect on it."""
    swappiness, swap_kilobytes = _number(_PROC / "sys/vm/swappiness"), _swap_kilobytes()
    if swappiness is None or swap_kilobytes is None:
        yield ok("swapping", "This system does not tell whether it swaps.")
    elif swap_kilobytes == 0:
        yield ok("swapping", "There is no swap space.")
    elif swappiness > SWAPPINESS_MAX:
        fact = f"vm.swappiness is {swappiness} and there is swap space: a node may wait for its own memory."
        yield warning("swapping", fact, "Set it to 1: sysctl vm.swappiness=1.")
    else:
        yield ok("swapping", f"vm.swappiness is {swappiness}.")


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _swap_kilobytes() -> int | None:
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("SwapTotal:")), None)
