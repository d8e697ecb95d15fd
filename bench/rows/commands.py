"""How long a command keeps a user waiting: a process of its own, from its start to its end."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.systems import ComparedSystem, System
from bench.topics import new_topic

COMMAND_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Commands:
    family = "commands"
    about = (
        "From the start of the process to its end, output included: `barnabas --version` and `barnabas topics list` beside "
        "`kafka-topics.sh --version` and `--list`, whose JVM has the options of kafka-run-class.sh. The cluster has one topic."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("command, version", "s", Better.LOWER, Goal(0.3, 0.2)),
            Figure("command, list of topics", "s", Better.LOWER, Goal(0.3, 0.4)),
        )

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        assert isinstance(system, ComparedSystem), "a peer has other commands"
        server = system.server()
        with new_topic(server, 1):
            yield lambda: (_seconds(system.version_command()), _seconds(system.list_topics_command(server.bootstrap)))


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS_MAX)
    took = time.perf_counter() - began
    if done.returncode != 0 or not done.stdout:
        raise MeasurementFailed(f"{command[-2:]} ended with code {done.returncode}: {done.stderr.strip()}")
    return took


ROWS = (Commands(),)
