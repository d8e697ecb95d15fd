"""``python -m bench.scale``: measures the chosen rows, and writes the page of all that were."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from bench import machine
from bench.results import three_digits
from bench.rounds import TROUBLE
from bench.scale import cost_charts, kept_costs
from bench.scale.kept_costs import Cost, KeptCosts
from bench.scale.page import CHARTS_FOLDER, page
from bench.scale.rows import ALL
from bench.scale.scale_row import ScaleRow
from bench.systems import ApacheKafka, Barnabas, System
from peers import apache_kafka

PAGE = apache_kafka.ROOT / "docs" / "scale.md"
# Processor time of a tenth of a millisecond is noise.
DECIMALS = 4
SYSTEMS: dict[str, type[System]] = {"barnabas": Barnabas, "kafka": ApacheKafka}


def main() -> int:
    given = _parse_arguments()
    results = given.output.with_suffix(".json")
    kept = kept_costs.load(results.read_text()) if results.exists() else KeptCosts({})
    missing = apache_kafka.why_missing()
    if given.draw:
        _write(given.output, kept)
        return 0
    kept = KeptCosts(machine.describe(), kept.costs)
    # Sizes of both systems follow each other, so that a change of the other load hits both.
    for row in (each for each in ALL if any(fnmatch(each.name, pattern) for pattern in given.rows)):
        for size in sorted({size for sizes in row.sizes.values() for size in sizes}):
            for key in given.system or SYSTEMS:
                if size not in row.sizes.get(key, ()) or (given.sizes and size not in given.sizes) or (key == "kafka" and missing):
                    continue
                # Written after each, so that an interrupted run keeps what it measured.
                kept = kept.updated([_measure(row, SYSTEMS[key](), size, given.rounds)])
                results.write_text(kept_costs.dump(kept), encoding="utf-8")
    _write(given.output, kept)
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="The cost of a server by how much it keeps.")
    names = ", ".join(row.name for row in ALL)
    parser.add_argument("--rows", nargs="+", metavar="PATTERN", default=["*"], help=f"only these, * and ? as in file names: {names}")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="only these sizes of the chosen rows")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="one of the servers; both unless given")
    parser.add_argument("--rounds", type=int, default=1, help="how often each size is measured")
    parser.add_argument("--draw", action="store_true", help="measure nothing; write the page and its figures again")
    parser.add_argument("--output", type=Path, metavar="FILE", default=PAGE, help="the page; its results and figures are beside it")
    return parser.parse_args()


def _measure(row: ScaleRow, system: System, size: int, rounds: int) -> Cost:
    what = f"{size:,} {row.counted}, {system.name}" if row.name == row.counted else f"{row.name}, {size:,} {row.counted}, {system.name}"
    date, version = datetime.now(UTC).date().isoformat(), system.version()
    values = []
    try:
        for _ in range(rounds):
            values.append(tuple(round(value, DECIMALS) for value in row.measure(system, size)))
            figures = zip(row.figures, values[-1], strict=True)
            print(f"{what}: {', '.join(f'{figure.name} {three_digits(value)} {figure.unit}' for figure, value in figures)}", flush=True)
    except TROUBLE as error:
        # A size that a server cannot do is a result, too.
        why = _one_line(str(error) or type(error).__name__)
        print(f"{what}: {why}", flush=True)
        return Cost(row.name, system.key, size, version, date, failure=why)
    return Cost(row.name, system.key, size, version, date, tuple(values))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def _write(output: Path, kept: KeptCosts) -> None:
    charts = {row.name: cost_charts.draw(row, kept) for row in ALL}
    folder = output.parent / CHARTS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [chart for each in charts.values() for chart in each]
    _remove_others(folder, (chart.name for chart in drawn))
    for chart in drawn:
        (folder / f"{chart.name}.svg").write_text(chart.svg, encoding="utf-8")
    output.write_text(page(ALL, kept, charts), encoding="utf-8")


def _remove_others(folder: Path, names: Iterable[str]) -> None:
    """Figures of rows that were renamed."""
    wanted = set(names)
    for file in folder.glob("scale-*.svg"):
        if file.stem not in wanted:
            file.unlink()


if __name__ == "__main__":
    sys.exit(main())
