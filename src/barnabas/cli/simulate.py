"""``barnabas simulate``: whole clusters in one process, on simulated time, network and disks, with
injected faults.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("simulate", help="Run simulated clusters through faults, and check their invariants.")(simulate)


def simulate(
    level: Annotated[str, typer.Argument(help="quorum, controller, cluster or groups.")] = "cluster",
    seed: Annotated[int, typer.Option(help="The seed of one run.")] = 0,
    seeds: Annotated[str, typer.Option(help="A range of seeds, A..B, without B.")] = "",
    seconds: Annotated[float, typer.Option(help="How long faults are injected, in simulated seconds.")] = 10.0,
    minutes: Annotated[float, typer.Option(help="Run new seeds for this many real minutes.")] = 0.0,
    faults: Annotated[str, typer.Option(help="Faults to inject, separated by commas, or none; default: the seed chooses.")] = "",
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every event.")] = False,
) -> None:
    from barnabas.cli.errors import Refused
    from barnabas.simulation.nemesis import FAULTS
    from barnabas.simulation.run import LEVELS as WORLDS, run
    from barnabas.simulation.violations import Violation
    from barnabas.simulation.world import Scenario

    if level not in WORLDS:
        raise Refused(f"there is no level {level!r}: it is one of {', '.join(WORLDS)}.")
    chosen = None if not faults else tuple(each for each in faults.split(",") if each != "none")
    unknown = [each for each in chosen or () if each not in FAULTS]
    if unknown:
        raise Refused(f"there are no faults {', '.join(unknown)}: they are {', '.join(FAULTS)}.")
    first, last = _range(seeds, seed)
    began = time.monotonic()
    number, broken = first, 0
    while number < last or (minutes > 0 and time.monotonic() - began < minutes * 60):
        try:
            report = run(Scenario(level, number, chosen, seconds), say=typer.echo if verbose else None)
            if first + 1 == last and not minutes:
                facts = ", ".join(f"{name} {value}" for name, value in report.facts.items())
                typer.echo(f"seed {number}: well. {report.simulated_ms} ms, {report.steps} steps, {report.messages} messages, {facts}")
                typer.echo(f"faults: {report.faults} of {', '.join(report.kinds) or 'no kind'}. digest {report.digest:08x}")
        except Violation as error:
            broken += 1
            typer.echo(f"seed {number}: {error}")
        number += 1
    ran = number - first
    if ran > 1:
        typer.echo(f"{ran} seeds, {broken} broken, {ran / max(time.monotonic() - began, 0.001):.1f} seeds/s")
    if broken:
        raise Refused(f"{broken} of {ran} seeds broke an invariant.")


def _range(seeds: str, seed: int) -> tuple[int, int]:
    if not seeds:
        return seed, seed + 1
    from barnabas.cli.errors import Refused

    first, dots, last = seeds.partition("..")
    if not dots or not first.isdigit() or not last.isdigit():
        raise Refused(f"{seeds!r} is not a range of seeds like 0..100.")
    return int(first), int(last)
