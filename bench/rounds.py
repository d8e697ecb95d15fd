"""The order of measurements.

A row has a session on each system, one measurement each that does not count, then the rounds. In a
round every system is measured once, and the last one of a round is the first of the next, so that
a slow minute of the machine affects both.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from confluent_kafka import KafkaException

from bench.measurement import Effort, Measure, MeasurementFailed, Row
from bench.results import RowResult
from bench.systems import ServerDied, System

# The failures that a measurement may have. Any other exception is a bug of the benchmark and ends
# it.
TROUBLE = (MeasurementFailed, ServerDied, KafkaException, subprocess.SubprocessError, OSError, RuntimeError)

# Called before each measurement with the row, the system and the round; round 0 does not count.
OnTurn = Callable[[Row, System, int], None]


def turns(systems: Sequence[System], rounds: int) -> Iterable[tuple[int, System]]:
    """(round, system) in order, beginning with round 0."""
    for number in range(rounds + 1):
        yield from ((number, system) for system in (reversed(systems) if number % 2 else systems))


def measure_row(row: Row, systems: Sequence[System], *, rounds: int, effort: Effort, on_turn: OnTurn) -> RowResult:
    result = RowResult(row, skipped=row.why_skipped())
    if result.skipped is not None:
        return result
    with ExitStack() as sessions:
        measures: dict[str, Measure] = {}
        for number, system in turns(systems, rounds):
            if system.key in result.failures:
                continue
            on_turn(row, system, number)
            try:
                if system.key not in measures:
                    measures[system.key] = sessions.enter_context(_Forgiving(row, system, effort, result))
                values = measures[system.key]()
            except TROUBLE as trouble:
                result.failures[system.key] = _sentence(trouble)
                continue
            assert len(values) == len(row.figures), "a value for each figure"
            if number > 0:
                result.rounds.setdefault(system.key, []).append(values)
    return result


class _Forgiving:
    """A session whose end may fail, as it does when its server died.

    Then the row has failed, and the other rows continue.
    """

    def __init__(self, row: Row, system: System, effort: Effort, result: RowResult) -> None:
        self._session = row.session(system, effort)
        self._system = system
        self._result = result

    def __enter__(self) -> Measure:
        return self._session.__enter__()

    def __exit__(self, *reason: object) -> None:
        try:
            self._session.__exit__(None, None, None)
        except TROUBLE as trouble:
            self._result.failures.setdefault(self._system.key, _sentence(trouble))


def _sentence(trouble: Exception) -> str:
    return " ".join(str(trouble).split()) or type(trouble).__name__
