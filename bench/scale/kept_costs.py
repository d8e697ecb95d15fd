"""The costs of all runs so far as data: ``docs/scale.json``, beside the page.

A run measures some rows, and the page is written from this file, so the other rows stay. A result
carries the date and the version of its server, because the results of one page may come from
several runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Cost:
    row: str
    system: str
    size: int
    version: str
    date: str
    # For each round one value for each figure.
    rounds: tuple[tuple[float, ...], ...] = ()
    # The reason why the server could not do it.
    failure: str | None = None

    def medians(self) -> tuple[float, ...]:
        return tuple(median(values) for values in zip(*self.rounds, strict=True))


@dataclass(frozen=True, slots=True)
class KeptCosts:
    machine: dict[str, str]
    costs: tuple[Cost, ...] = ()

    def updated(self, newer: Iterable[Cost]) -> KeptCosts:
        """Each result replaces the one of the same row, system and size."""
        by_key = {_key(each): each for each in self.costs} | {_key(each): each for each in newer}
        return KeptCosts(self.machine, tuple(by_key[key] for key in sorted(by_key)))

    def of(self, row: str) -> list[Cost]:
        """By size, and for each size ours first."""
        return sorted((each for each in self.costs if each.row == row), key=lambda each: (each.size, each.system))


def _key(cost: Cost) -> tuple[str, str, int]:
    return cost.row, cost.system, cost.size


def dump(kept: KeptCosts) -> str:
    """One line for each result, so that the difference of two runs is one of lines."""
    lines = ",\n".join(f"  {json.dumps(asdict(each))}" for each in kept.costs)
    return f'{{\n "machine": {json.dumps(kept.machine)},\n "costs": [\n{lines}\n ]\n}}\n'


def load(text: str) -> KeptCosts:
    kept = json.loads(text)
    costs = (Cost(**{**each, "rounds": tuple(tuple(values) for values in each["rounds"])}) for each in kept["costs"])
    return KeptCosts(kept["machine"], tuple(costs))
