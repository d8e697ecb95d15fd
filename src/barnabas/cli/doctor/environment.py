"""Variables that change what commands and nodes do. Values may be secrets, so none is shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.cli.doctor.finding import Finding, ok, warning
from barnabas.config.environment import PREFIX, read_environment
from barnabas.model.compiled import PURE_VARIABLE

OWN_PREFIX = "BARNABAS_"


def variables(settings: Mapping[str, str]) -> Iterable[Finding]:
    """``settings`` are those of the configuration file."""
    own = sorted(name for name in os.environ if name.startswith(OWN_PREFIX))
    yield from _own(own)
    kafka = read_environment(os.environ, settings)
    if kafka.properties:
        listed = ", ".join(f"{variable} sets {setting}" for setting, variable in sorted(kafka.variables.items()))
        advice = "`barnabas server --no-environment` ignores them." if any(name in settings for name in kafka.properties) else ""
        overridden = sorted(name for name in kafka.properties if name in settings)
        if overridden:
            yield warning("environment", f"{listed}; {', '.join(overridden)} of the file is overridden.", advice)
        else:
            yield ok("environment", f"`barnabas server` takes settings from variables: {listed}.")
    if kafka.start_script:
        yield ok("environment", f"{', '.join(kafka.start_script)} belong to Kafka's start scripts and have no effect.")
    if kafka.unknown:
        yield warning("environment", f"{', '.join(kafka.unknown)}: no setting has these names.", "Correct or unset them.")
    if not own and not any(name.startswith(PREFIX) for name in os.environ):
        yield ok("environment", f"No {OWN_PREFIX}... or {PREFIX}... variable is set.")


def _own(names: list[str]) -> Iterable[Finding]:
    if not names:
        return
    effects = _options_by_variable() | {PURE_VARIABLE: "reading records in Python, not by compiled code"}
    for name in names:
        if name in effects:
            yield ok("environment", f"{name} is set: it stands for {effects[name]}.")
        elif not os.environ[name]:
            continue
        else:
            yield warning("environment", f"{name} is set, and no command reads it.", "Correct or unset it.")


def _options_by_variable() -> dict[str, str]:
    """The variables that commands read, found in the commands themselves."""
    from typer.main import get_command

    from barnabas.cli.main import build_app

    found: dict[str, str] = {}

    def look(command: Any) -> None:
        for parameter in command.params:
            names = parameter.envvar or ()
            for name in [names] if isinstance(names, str) else names:
                found.setdefault(name, f"{max(parameter.opts, key=len)} of the commands that have it")
        for each in getattr(command, "commands", {}).values():
            look(each)

    look(get_command(build_app(None)))
    return found
