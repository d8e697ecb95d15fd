"""Rows and systems that only pretend, for tests of what is done with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.systems import ComparedSystem, System


class StagedSystem(ComparedSystem):
    """Never started: a staged row asks it for nothing but its name."""

    def __init__(self, key: str, name: str) -> None:
        super().__init__()
        self.key = key
        self.name = name

    def version(self) -> str:
        return "1.0"

    def format_storage(self, properties: Path) -> None:
        raise AssertionError("a staged system is not started")

    def command(self, properties: Path) -> list[str]:
        raise AssertionError("a staged system is not started")

    def version_command(self) -> list[str]:
        raise AssertionError("a staged system has no commands")

    def list_topics_command(self, bootstrap: str) -> list[str]:
        raise AssertionError("a staged system has no commands")


OURS = StagedSystem("barnabas", "Barnabas")
THEIRS = StagedSystem("kafka", "Apache Kafka")


@dataclass
class StagedRow:
    """Measures 1, 2, 3 on each system in turn, and fails at the measurement that ``fails``
    names."""

    goal: Goal | None = None
    skipped: str | None = None
    # (system, how many measurements it survives)
    fails: tuple[str, int] | None = None
    # Sessions that were opened and closed, and every measurement, in the order in which they
    # happened.
    transcript: list[str] = field(default_factory=list)
    family = "staged"
    about = "Nothing is measured."

    @property
    def figures(self) -> tuple[Figure, ...]:
        return Figure("staged speed", "MB/s", Better.HIGHER, self.goal), Figure("staged delay", "us", Better.LOWER)

    def why_skipped(self) -> str | None:
        return self.skipped

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        count = 0
        self.transcript.append(f"open {system.key}")

        def measure() -> tuple[float, ...]:
            nonlocal count
            if self.fails == (system.key, count):
                raise MeasurementFailed("told to fail")
            count += 1
            self.transcript.append(system.key)
            return float(count), 10.0 * count

        yield measure
        self.transcript.append(f"close {system.key}")
