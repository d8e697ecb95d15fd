"""The definition of a row.

A row opens a *session* on each system (a topic, filled if needed), and the session returns a
function that measures once. A session lasts for all rounds of a row, and measurements alternate
between the sessions. So the preparation happens once and does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bench.systems import System

# One value for each figure of the row, in the row's order.
Measure = Callable[[], tuple[float, ...]]


class Better(Enum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Goal:
    """``ratio`` is ours divided by Apache Kafka's: at least, or at most where lower is better.

    ``ours`` must be reached too, or alone.
    """

    ratio: float | None = None
    ours: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    unit: str
    better: Better
    goal: Goal | None = None


def server_cpu(name: str, unit: str) -> Figure:
    """What the row ``name`` costs the server, user and system time of all its threads and children.

    A client that is the limit hides the difference between two servers; this shows it.
    """
    return Figure(f"{name}, server CPU", unit, Better.LOWER, Goal(1.0))


@dataclass(frozen=True, slots=True)
class Effort:
    """The amount of work of one measurement: enough that startup does not show, and little enough
    that all rounds finish in time."""

    megabytes_of_small_values: int
    megabytes_of_large_values: int
    megabytes_for_resources: int
    closed_loop_seconds: float
    latency_records: int
    java_megabytes: int
    transactions: int
    java_transactions: int
    group_formations: int
    share_records: int
    registrations: int
    compacted_megabytes: int
    spark_rows: int
    spark_small_batches: int
    warm_up_seconds: float

    def megabytes(self, value_bytes: int) -> int:
        """A byte of small values costs a client ten times as much, so use fewer bytes."""
        return self.megabytes_of_small_values if value_bytes < 500 else self.megabytes_of_large_values


FULL = Effort(
    megabytes_of_small_values=100,
    megabytes_of_large_values=250,
    megabytes_for_resources=500,
    closed_loop_seconds=2.0,
    latency_records=2000,
    java_megabytes=150,
    transactions=500,
    java_transactions=2000,
    group_formations=5,
    share_records=200_000,
    registrations=200,
    compacted_megabytes=300,
    spark_rows=1_000_000,
    spark_small_batches=30,
    warm_up_seconds=5.0,
)
QUICK = Effort(
    megabytes_of_small_values=25,
    megabytes_of_large_values=60,
    megabytes_for_resources=120,
    closed_loop_seconds=0.6,
    latency_records=400,
    java_megabytes=40,
    transactions=300,
    java_transactions=500,
    group_formations=2,
    share_records=20_000,
    registrations=40,
    compacted_megabytes=100,
    spark_rows=100_000,
    spark_small_batches=6,
    warm_up_seconds=2.0,
)


class MeasurementFailed(Exception):
    """The text is a sentence with the reason."""


class Row(Protocol):
    @property
    def family(self) -> str:
        """A name for rows with the same description."""

    @property
    def about(self) -> str:
        """The description of the measurement, for the report."""

    @property
    def figures(self) -> tuple[Figure, ...]: ...

    def why_skipped(self) -> str | None:
        """The requirement that this machine lacks, in a sentence."""

    def session(self, system: System, effort: Effort) -> AbstractContextManager[Measure]: ...
