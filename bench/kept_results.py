"""The results of a run as data: ``docs/benchmarks.json``, beside the page.

The charts are drawn from it, so that they can be drawn again without measuring again, and a reader
can compare two runs with a program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.measurement import Better, Figure, Goal
from bench.results import Comparison, Spread


@dataclass(frozen=True, slots=True)
class KeptResults:
    date: str
    versions: Mapping[str, str]
    rounds: int
    comparisons: Sequence[Comparison]


def dump(results: KeptResults) -> str:
    """One line for each figure, so that the difference of two runs is one of lines."""
    head = {"date": results.date, "versions": dict(results.versions), "rounds": results.rounds}
    figures = ",\n".join(f"  {json.dumps(_figure(each))}" for each in results.comparisons)
    return f'{json.dumps(head, indent=1)[:-2]},\n "figures": [\n{figures}\n ]\n}}\n'


def load(text: str) -> KeptResults:
    kept = json.loads(text)
    return KeptResults(kept["date"], kept["versions"], kept["rounds"], [_comparison(each) for each in kept["figures"]])


def _figure(comparison: Comparison) -> dict[str, Any]:
    figure = comparison.figure
    return {
        "name": figure.name,
        "unit": figure.unit,
        "better": figure.better.value,
        "goal": None if figure.goal is None else asdict(figure.goal),
        "spreads": {system: asdict(spread) for system, spread in comparison.spreads.items()},
    }


def _comparison(kept: Mapping[str, Any]) -> Comparison:
    goal = None if kept["goal"] is None else Goal(**kept["goal"])
    figure = Figure(kept["name"], kept["unit"], Better(kept["better"]), goal)
    return Comparison(figure, {system: Spread(**spread) for system, spread in kept["spreads"].items()})
