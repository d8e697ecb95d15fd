"""The cost of a process and its descendants, from ``/proc``.

Linux only, like the rest of the benchmark.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# How the kernel writes "the processor time of all threads of a process, live or ended" into the
# number of a clock, below the complement of the process id: CPUCLOCK_SCHED in its sources.
_CLOCK_OF_PROCESS, _CLOCK_BITS = 2, 3


@dataclass(frozen=True, slots=True)
class ProcessStat:
    parent: int
    ended_children_ticks: int


def parse_stat(line: str) -> ProcessStat:
    """Parses ``/proc/<pid>/stat``: the parent, and user and system time of ended children.

    The command's name is in parentheses and may itself contain spaces and parentheses, so fields
    are counted from the last one.
    """
    fields = line.rpartition(")")[2].split()
    return ProcessStat(parent=int(fields[1]), ended_children_ticks=int(fields[13]) + int(fields[14]))


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, its threads and its descendants.

    The kernel counts that of ended children in ticks of 10 ms, and all else in nanoseconds: a GB
    costs a server a tenth of a second, so ticks would hide the difference between two servers.
    """
    stats = _all_stats()
    family = _with_descendants(pid, stats)
    return sum(map(_own_cpu_seconds, family)) + sum(stats[each].ended_children_ticks for each in family) / _TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """Resident memory of the process and its descendants, without the page cache of log files."""
    return sum(_resident_pages(each) for each in _with_descendants(pid, _all_stats())) * _PAGE_BYTES


def _own_cpu_seconds(pid: int) -> float:
    try:
        return time.clock_gettime(~pid << _CLOCK_BITS | _CLOCK_OF_PROCESS)
    except OSError:
        return 0.0  # it ended while we looked


def _all_stats() -> dict[int, ProcessStat]:
    stats = {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                stats[int(directory.name)] = parse_stat((directory / "stat").read_text())
            except OSError:
                continue  # it ended while we looked
    return stats


def _with_descendants(pid: int, stats: dict[int, ProcessStat]) -> list[int]:
    if pid not in stats:
        raise ProcessLookupError(f"process {pid} is gone")
    found = [pid]
    for each in found:
        found += [child for child, stat in stats.items() if stat.parent == each]
    return found


def _resident_pages(pid: int) -> int:
    try:
        return int(Path("/proc", str(pid), "statm").read_text().split()[1])
    except OSError:
        return 0
