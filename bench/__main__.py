"""``python -m bench``: measure, show, write the page with its figures, and keep the results."""

from __future__ import annotations

import argparse
import datetime
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import charts, kept_results, machine, readme_table, report
from bench.measurement import FULL, QUICK, Effort, Row
from bench.peers.page import page as peers_page
from bench.peers.rows import ALL as PEER_ROWS
from bench.peers.run import measure_peers
from bench.programs import BUILT
from bench.results import Comparison, RowResult
from bench.rounds import measure_row
from bench.rows import ALL
from bench.systems import ApacheKafka, Barnabas, System
from bench.warm_up import warm_up
from peers import apache_kafka

ROUNDS = 5
QUICK_ROUNDS = 1
# The code of a program that Ctrl-C ended.
INTERRUPTED = 130
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
README = PAGE.parent.parent / "README.md"

# Wide enough for the table when the output has no width: a file, or a pipe.
console = Console(width=None if sys.stdout.isatty() else 140)


def main() -> int:
    # End the servers and delete their data, also when a signal stops the benchmark.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    arguments = _parse_arguments()
    if arguments.draw:
        target = arguments.output or PAGE
        comparisons = kept_results.load(target.with_suffix(".json").read_text()).comparisons
        _draw(comparisons, target)
        if target == PAGE:
            _write_readme(comparisons)
        return 0
    if arguments.only == "peers":
        return _measure_peers(arguments)
    code = _measure_rows(arguments)
    # The peers come last, so that a run that is interrupted has the benchmarks.
    return _measure_peers(arguments) or code if arguments.with_peers and code != INTERRUPTED else code


def _measure_rows(arguments: argparse.Namespace) -> int:
    systems, missing = _choose_systems(arguments.only)
    if not systems:
        console.print(f"Apache Kafka cannot be measured: {missing}.")
        return 1
    if missing and arguments.update:
        console.print(f"The page compares two servers, and Apache Kafka cannot be measured: {missing}.")
        return 1
    if missing:
        console.print(f"Only Barnabas is measured: {missing}.")
    rows = [row for row in ALL if _chosen(row, arguments.rows)]
    if not rows:
        console.print(f"No row matches {arguments.rows!r}.")
        return 1
    results: list[RowResult] = []
    run = report.Run(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=machine.describe(),
        systems=systems,
        versions={system.key: system.version() for system in systems},
        rounds=arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS),
        quick=arguments.quick,
        missing=missing,
        results=results,
    )

    def finished() -> None:
        if arguments.update:
            _write(replace(run, results=_with_earlier(results)), PAGE)

    try:
        _measure(run, rows, QUICK if arguments.quick else FULL, results, finished)
    except KeyboardInterrupt:
        console.print("Interrupted.")
        if results:
            console.print(report.terminal_table(run))
        return INTERRUPTED
    console.print(report.terminal_table(run))
    if not arguments.update:
        whole = len(rows) == len(ALL) and arguments.only is None and not arguments.quick
        _write(run, target := arguments.output or (PAGE if whole else BUILT / "benchmarks.md"))
        console.print(f"Written to {_shown(target)}.")
    return 1 if any(result.failures for result in results) else 0


def _write(run: report.Run, target: Path) -> None:
    drawn = _draw(run.comparisons(), target)
    target.write_text(report.page(run, drawn))
    target.with_suffix(".json").write_text(kept_results.dump(run.kept()))
    if target == PAGE:
        _write_readme(run.comparisons())


def _write_readme(comparisons: Sequence[Comparison]) -> None:
    README.write_text(readme_table.with_table(README.read_text(), comparisons))


def _with_earlier(results: Sequence[RowResult]) -> list[RowResult]:
    """All rows that were ever measured, in their order on the page. A failure replaces nothing."""
    earlier = kept_results.load(PAGE.with_suffix(".json").read_text()).earlier_results(ALL)
    latest = {id(each.row): each for each in earlier} | {id(each.row): each for each in results if not each.failures and not each.skipped}
    return [latest[id(row)] for row in ALL if id(row) in latest]


def _measure_peers(arguments: argparse.Namespace) -> int:
    rows = [row for row in PEER_ROWS if _chosen(row, arguments.rows)]
    if not rows:
        console.print(f"No row of the peers matches {arguments.rows!r}.")
        return 1
    rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    run = measure_peers(rows, rounds=rounds, quick=arguments.quick, say=partial(console.print, highlight=False, soft_wrap=True))
    whole = len(rows) == len(PEER_ROWS) and not arguments.quick
    # A page that was asked for with --output is that of the benchmarks, unless only the peers run.
    asked = arguments.output if arguments.only == "peers" else None
    target = asked or (PAGE.with_name("peers.md") if whole else BUILT / "peers.md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(peers_page(run))
    target.with_suffix(".json").write_text(kept_results.dump(run.kept()))
    console.print(f"Written to {_shown(target)}.")
    # A peer that fails in a row is a fact for the page, not a failure of the benchmark.
    return 0


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _draw(comparisons: Sequence[Comparison], page: Path) -> list[str]:
    """Draws into the folder beside the page; returns the names of the charts."""
    folder = page.parent / report.CHARTS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    drawn = charts.draw(comparisons)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    return list(drawn)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Barnabas and Apache Kafka, measured in turns on this machine.")
    parser.add_argument("--rounds", type=_positive, help=f"how often each row counts (default {ROUNDS}; with --quick {QUICK_ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="little work in each row: to see that everything works")
    parser.add_argument("--rows", metavar="PATTERN", default="*", help="only rows whose name contains this; * and ? as in file names")
    parser.add_argument("--only", choices=["barnabas", "kafka", "peers"], help="only one of the two, or only the rows of --with-peers")
    parser.add_argument(
        "--with-peers",
        action="store_true",
        help="then measure kfake, Tansu and NATS JetStream beside both, and write docs/peers.md (builds them into .peers/)",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="measure the chosen rows again and keep the others of docs/benchmarks.md; each row is written as soon as it is done",
    )
    parser.add_argument(
        "--draw",
        action="store_true",
        help="measure nothing; write the figures and the README's table again from kept results",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="where the page goes (default: docs/benchmarks.md for a whole run, else .bench/benchmarks.md)",
    )
    arguments = parser.parse_args()
    if arguments.update and (arguments.quick or arguments.only or arguments.output):
        parser.error("--update writes docs/benchmarks.md, and takes full measurements of both systems only")
    return arguments


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _choose_systems(only: str | None) -> tuple[list[System], str | None]:
    """The systems, and the reason why Apache Kafka is missing although it was wanted."""
    missing = apache_kafka.why_missing() if only != "barnabas" else None
    wanted: list[System] = [Barnabas(), ApacheKafka()]
    return [each for each in wanted if only in (None, each.key) and not (each.key == "kafka" and missing)], missing


def _chosen(row: Row, pattern: str) -> bool:
    return any(fnmatch(figure.name.lower(), f"*{pattern.lower()}*") for figure in row.figures)


def _measure(run: report.Run, rows: Sequence[Row], effort: Effort, results: list[RowResult], finished: Callable[[], None]) -> None:
    """``finished`` is called after each row."""
    # Redraw only between measurements: an animated bar would be additional load on the machine.
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        auto_refresh=False,
        transient=True,
    )
    task = progress.add_task("", total=len(rows) * len(run.systems) * (run.rounds + 1))

    def on_turn(row: Row, system: System, number: int) -> None:
        what = f"round {number}" if number else "warming up"
        progress.update(task, description=f"{row.figures[0].name}: {system.name}, {what}", advance=1, refresh=True)

    with ExitStack() as stack:
        for system in run.systems:
            system.on_started = partial(warm_up, effort=effort)
            stack.callback(system.close)
        stack.enter_context(progress)
        for row in rows:
            result = measure_row(row, run.systems, rounds=run.rounds, effort=effort, on_turn=on_turn)
            results.append(result)
            for line in report.one_line(run, result):
                console.print(line, highlight=False, soft_wrap=True)
            finished()


if __name__ == "__main__":
    sys.exit(main())
