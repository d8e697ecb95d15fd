"""A run of the peers' page: choose the systems, measure every row, ask for the APIs."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from bench import machine
from bench.measurement import FULL, QUICK, MeasurementFailed, Row
from bench.peers import apis
from bench.peers.page import PeerRun, lines_of
from bench.peers.rows import PeerRow, taking_part
from bench.peers.systems import Peer, Work, all_peers, can_do
from bench.results import RowResult
from bench.rounds import measure_row
from bench.systems import ApacheKafka, Barnabas, ServerDied, System
from bench.warm_up import warm_up
from peers import apache_kafka

Say = Callable[[str], None]


def measure_peers(rows: Sequence[PeerRow], *, rounds: int, quick: bool, say: Say) -> PeerRun:
    """A run that Ctrl-C ends has the rows that were measured by then."""
    candidates: list[System] = [Barnabas(), ApacheKafka(), *all_peers()]
    say("The programs of the peers are built where they are missing; that may take minutes.")
    systems, missing = choose(candidates, _why_missing)
    for name, why in missing.items():
        say(f"{name} is not measured: {why}.")
    effort = QUICK if quick else FULL
    results: list[RowResult] = []
    found: dict[str, frozenset[int]] = {}
    run = PeerRun(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=machine.describe(),
        systems=systems,
        versions={system.key: system.version() for system in systems},
        missing=missing,
        apis=found,
        rounds=rounds,
        quick=quick,
        results=results,
    )
    with ExitStack() as stack:
        for system in systems:
            # The peers are compiled before they run, so they need no warming up.
            if not isinstance(system, Peer):
                system.on_started = partial(warm_up, effort=effort)
            stack.callback(system.close)
        try:
            for row in rows:
                result = measure_row(row, taking_part(row, systems), rounds=rounds, effort=effort, on_turn=_ignore_turn)
                results.append(result)
                for line in lines_of(run, result):
                    say(line)
            found.update(_ask_for_apis(systems))
        except KeyboardInterrupt:
            say("Interrupted.")
    return run


def choose(candidates: Sequence[System], why_missing: Callable[[System], str | None]) -> tuple[list[System], dict[str, str]]:
    """The systems that can be measured here, and the reasons for the others by name."""
    reasons = {system.name: why_missing(system) for system in candidates}
    missing = {name: why for name, why in reasons.items() if why is not None}
    return [system for system in candidates if system.name not in missing], missing


def _why_missing(system: System) -> str | None:
    if isinstance(system, Peer):
        return system.why_missing()
    return apache_kafka.why_missing() if isinstance(system, ApacheKafka) else None


def _ask_for_apis(systems: Sequence[System]) -> dict[str, frozenset[int]]:
    found = {}
    for system in systems:
        if can_do(system, Work.KAFKA_REQUESTS):
            try:
                found[system.key] = apis.announced(system.server())
            except (OSError, ServerDied, MeasurementFailed):
                continue  # Its rows say that it died.
    return found


def _ignore_turn(row: Row, system: System, number: int) -> None:
    pass
