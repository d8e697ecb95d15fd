"""The findings of a scrub, and the amount of data that it has read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from barnabas.cli.log.dump.entries import Damage

# Progress is reported every megabyte: drawing a bar takes longer than reading a batch.
_PROGRESS_BITS = 20


class Severity(StrEnum):
    WRONG = "wrong"  # data is lost, damaged or contradictory
    NOTE = "note"  # left by a crash or a change in progress; a node repairs it by itself


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, and its place. ``says`` is the end of a sentence about the file."""

    severity: Severity
    path: str
    says: str
    position: int | None = None  # in bytes
    line: int | None = None
    offset: int | None = None

    @property
    def text(self) -> str:
        places = [
            f"{name} {value}"
            for name, value in (("position", self.position), ("line", self.line), ("offset", self.offset))
            if value is not None
        ]
        where = f" at {', '.join(places)}" if places else ""
        return f"{self.severity.value}: {self.path}{where}: {self.says.rstrip('.')}."

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "severity": self.severity.value,
            "file": self.path,
            "position": self.position,
            "line": self.line,
            "offset": self.offset,
            "says": self.says.rstrip("."),
        }


@dataclass(slots=True)
class Scrub:
    """All findings so far. ``progress`` is called with the number of bytes of logs that were
    read."""

    deep: bool = False
    progress: Callable[[int], None] = lambda _: None
    findings: list[Finding] = field(default_factory=list)
    directories: int = 0
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    bytes_read: int = 0

    @property
    def wrong(self) -> list[Finding]:
        return [each for each in self.findings if each.severity is Severity.WRONG]

    def find_wrong(self, path: str, says: str, *, position: int | None = None, line: int | None = None, offset: int | None = None) -> None:
        self.findings.append(Finding(Severity.WRONG, path, says, position=position, line=line, offset=offset))

    def find_damage(self, path: str, damage: Damage) -> None:
        self.find_wrong(path, damage.why, position=damage.position, line=damage.line)

    def note(self, path: str, says: str, *, position: int | None = None, offset: int | None = None) -> None:
        self.findings.append(Finding(Severity.NOTE, path, says, position=position, offset=offset))

    def has_read(self, size_bytes: int) -> None:
        self.bytes_read += size_bytes
        if self.bytes_read >> _PROGRESS_BITS != (self.bytes_read - size_bytes) >> _PROGRESS_BITS:
            self.progress(self.bytes_read)
