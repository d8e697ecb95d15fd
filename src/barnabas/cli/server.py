"""``barnabas server``: one node, configured like Kafka."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.config.environment import EnvironmentSettings, read_environment, variables_at_fault
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.config.settings import BrokerSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Ready
from barnabas.node.process import parse_settings, run_loop, run_until_stopped
from barnabas.telemetry.logs import LEVELS, EventLog


def register(app: typer.Typer) -> None:
    app.command("server")(server)


def server(
    config: Path | None = typer.Option(None, "--config", help="A server.properties file."),
    override: list[str] = typer.Option([], "--override", help="name=value; takes precedence over the file and the environment."),
    log_level: str = typer.Option("INFO", "--log-level", help=f"One of {', '.join(LEVELS)}."),
    no_environment: bool = typer.Option(False, "--no-environment", help="Ignore KAFKA_... variables."),
    until_stdin_ends: bool = typer.Option(False, "--until-stdin-ends", hidden=True, help="Stop when the parent process ends."),
) -> None:
    """Run one node until SIGTERM or Ctrl-C.

    Settings come from the file, from KAFKA_... variables (KAFKA_LOG_DIRS is log.dirs) and from
    --override; later sources take precedence.
    """
    if log_level not in LEVELS:
        raise Refused(f"--log-level must be one of {', '.join(LEVELS)}, but is {log_level!r}.")
    try:
        in_file, overrides = _from_file(config), parse_overrides(override)
        from_environment = read_environment({} if no_environment else os.environ, {**in_file, **overrides})
        # Report before any error stops the node: a misspelt variable may be the reason why a
        # setting is missing.
        _report_ignored(from_environment, EventLog(log_level))
        settings = _parse(in_file, from_environment, overrides)
        log = EventLog(log_level, node_id=settings.integer("node.id"))
        code = run_loop(run_until_stopped(settings, log, announce, watch_stdin=until_stdin_ends))
    except CannotStart as error:
        raise Refused(str(error)) from error
    raise typer.Exit(code)


def announce(ready: Ready) -> None:
    prometheus = f" prometheus={ready.prometheus_port}" if ready.prometheus_port is not None else ""
    typer.echo(f"ready bootstrap={ready.bootstrap} cluster={ready.cluster_id} node={ready.node_id}{prometheus}")


def _from_file(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        return read_properties(path.read_text("latin-1"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except ConfigError as error:
        raise Refused(f"{path}: {error}") from error


def _parse(in_file: dict[str, str], from_environment: EnvironmentSettings, overrides: dict[str, str]) -> BrokerSettings:
    """``CannotStart`` also names the environment variables at fault, since the user does not find
    them in a file."""
    try:
        return parse_settings({**in_file, **from_environment.properties, **overrides})
    except CannotStart as error:
        in_force = {setting: name for setting, name in from_environment.variables.items() if setting not in overrides}
        at_fault = variables_at_fault(str(error), in_force)
        if not at_fault:
            raise
        raise CannotStart(f"{', '.join(at_fault)} in the environment: {error}") from error


def _report_ignored(from_environment: EnvironmentSettings, log: EventLog) -> None:
    if from_environment.start_script:
        log.info("environment variables for Kafka's start scripts have no effect", variables=from_environment.start_script)
    if from_environment.unknown:
        log.warning("environment variables are ignored, because no setting has these names", variables=from_environment.unknown)
