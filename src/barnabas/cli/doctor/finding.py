"""A finding, and the limit on the time that a check may take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from barnabas.cli.errors import Refused

# The slowest check asks brokers, and gives each address a few seconds.
CHECK_SECONDS_MAX = 15.0


class State(Enum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: State
    fact: str
    advice: str = ""
    """How to fix it; empty for a finding that is ok."""


Check: TypeAlias = Callable[[], Iterable[Finding]]


def ok(check: str, fact: str) -> Finding:
    return Finding(check, State.OK, fact)


def warning(check: str, fact: str, advice: str) -> Finding:
    return Finding(check, State.WARNING, fact, advice)


def problem(check: str, fact: str, advice: str) -> Finding:
    return Finding(check, State.PROBLEM, fact, advice)


def run_check(name: str, check: Check, *, seconds_max: float = CHECK_SECONDS_MAX) -> list[Finding]:
    """The findings; one about the check itself when it fails or takes too long.

    A thread that hangs, on a dead network disk for example, cannot be ended. It is a daemon, so it
    does not keep the command from ending.
    """
    findings: list[Finding] = []

    def run() -> None:
        try:
            findings.extend(check())
        except Refused as refused:
            findings.append(problem(name, str(refused), ""))
        except Exception as error:  # noqa: BLE001 - a task's outermost frame
            findings.append(warning(name, f"The check failed: {error!r}.", "Please report this as a bug of the doctor."))

    thread = threading.Thread(target=run, name=f"doctor-{name}", daemon=True)
    thread.start()
    thread.join(seconds_max)
    if thread.is_alive():
        late = problem(name, f"The check did not end within {seconds_max:g} s.", "A disk, a name server or a program does not respond.")
        return [*findings, late]
    return findings


def run_side_by_side(checks: Mapping[str, Check], *, seconds_max: float) -> list[Finding]:
    """The findings of checks that mostly wait, in the order of ``checks``."""
    found: dict[str, list[Finding]] = {}

    def run(name: str, check: Check) -> None:
        found[name] = run_check(name, check, seconds_max=seconds_max)

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in checks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [finding for name in checks for finding in found[name]]
