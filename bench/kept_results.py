"""The results of a run as data: ``docs/benchmarks.json``, beside the page.

The charts are drawn from it, so that they can be drawn again without measuring again, and a reader
can compare two runs with a program. A run of some rows keeps the others
(:meth:`KeptResults.earlier_results`); each figure says which run it is of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.measurement import Better, Figure, Goal, Row
from bench.results import Comparison, Earlier, Occasion, RowResult, Spread


@dataclass(frozen=True, slots=True)
class KeptResults:
    latest: Occasion
    comparisons: Sequence[Comparison]
    # By the name of a figure, if it is not of the latest run.
    earlier: Mapping[str, Occasion] = field(default_factory=dict)

    def earlier_results(self, rows: Sequence[Row]) -> list[RowResult]:
        """Of the rows that are kept with all their figures. Goals are those of today."""
        spreads = {each.figure.name: each.spreads for each in self.comparisons}
        found = []
        for row in rows:
            names = [figure.name for figure in row.figures]
            if all(name in spreads for name in names):
                occasion = self.earlier.get(names[0], self.latest)
                found.append(RowResult(row, earlier=Earlier(occasion, [spreads[name] for name in names])))
        return found


def dump(results: KeptResults) -> str:
    """One line for each figure, so that the difference of two runs is one of lines."""
    figures = ",\n".join(f"  {json.dumps(_figure(each, results.earlier.get(each.figure.name)))}" for each in results.comparisons)
    return f'{json.dumps(asdict(results.latest), indent=1)[:-2]},\n "figures": [\n{figures}\n ]\n}}\n'


def load(text: str) -> KeptResults:
    kept = json.loads(text)
    earlier = {each["name"]: Occasion(**each["run"]) for each in kept["figures"] if "run" in each}
    return KeptResults(Occasion(kept["date"], kept["versions"], kept["rounds"]), [_comparison(each) for each in kept["figures"]], earlier)


def _figure(comparison: Comparison, earlier: Occasion | None) -> dict[str, Any]:
    figure = comparison.figure
    return {
        "name": figure.name,
        "unit": figure.unit,
        "better": figure.better.value,
        "goal": None if figure.goal is None else asdict(figure.goal),
        "spreads": {system: asdict(spread) for system, spread in comparison.spreads.items()},
        **({} if earlier is None else {"run": asdict(earlier)}),
    }


def _comparison(kept: Mapping[str, Any]) -> Comparison:
    goal = None if kept["goal"] is None else Goal(**kept["goal"])
    figure = Figure(kept["name"], kept["unit"], Better(kept["better"]), goal)
    return Comparison(figure, {system: Spread(**spread) for system, spread in kept["spreads"].items()})
