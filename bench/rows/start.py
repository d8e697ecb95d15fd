"""How long a server takes to be of use, and how much memory it has taken by then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.first_record import await_first_record
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.systems import System

# What a server does after it has started, before its memory is read.
SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Start:
    family = "start"
    about = (
        "From the start of the process on a newly formatted directory (formatting is not counted) to the acknowledgement of the first"
        " record: a raw socket that tries to connect every millisecond creates a topic and produces to it. Idle memory is the "
        f"resident set {SETTLE_SECONDS:g} s later."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("start to first acknowledged record", "s", Better.LOWER, Goal(0.15)),
            Figure("resident memory, idle", "MB", Better.LOWER, Goal(0.15)),
        )

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        def measure() -> tuple[float, ...]:
            with system.fresh_server() as server:
                acknowledged_at = await_first_record(server)
                time.sleep(SETTLE_SECONDS)
                return acknowledged_at - server.started_at, server.resident_bytes() / 1e6

        yield measure


ROWS = (Start(),)
