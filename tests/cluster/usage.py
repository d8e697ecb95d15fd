"""What a process holds, as the kernel counts it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    resident_bytes: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> Usage:
        process = Path("/proc") / str(pid)
        pages = int((process / "statm").read_text().split()[1])
        return cls(pages * _PAGE_BYTES, len(list((process / "fd").iterdir())), len(list((process / "task").iterdir())))
