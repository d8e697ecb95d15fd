"""How many offset commits a group coordinator answers, and how soon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, server_cpu
from bench.requests import await_group_coordinator
from bench.systems import System
from bench.topics import new_topic

COMMITTERS = (1, 16)


@dataclass(frozen=True, slots=True)
class OffsetCommits:
    committers: int
    family = "offset commits"
    about = (
        "A closed loop of OffsetCommit requests for one partition: each committer has a connection and a partition of its own, all "
        "have one group, and each sends the next commit when the one before is answered. The 99th percentile is of the same commits."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.family}, {self.committers} committer{'s' if self.committers > 1 else ''}"
        return (
            Figure(name, "commits/s", Better.HIGHER, Goal(1.0)),
            Figure(f"{name}, p99", "us", Better.LOWER),
            server_cpu(name, "us/commit"),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server, seconds = system.server(), effort.closed_loop_seconds
        with new_topic(server, self.committers) as topic:
            group = f"committers-of-{topic}"
            await_group_coordinator(server, group)

            def measure() -> tuple[float, ...]:
                before = server.cpu_seconds()
                seen = programs.commit_loop(
                    port=server.port,
                    group=group,
                    topic=topic,
                    connections=self.committers,
                    partitions=self.committers,
                    seconds=seconds,
                )
                used = server.cpu_seconds() - before
                return seen["requests_per_s"], seen["p99_us"], used / (seen["requests_per_s"] * seconds) * 1e6

            yield measure


ROWS = tuple(OffsetCommits(committers) for committers in COMMITTERS)
