"""``barnabas server``: one node, configured like Kafka."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.node_settings import parse_node_settings, settings_in_file
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.config.environment import EnvironmentSettings, read_environment
from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Ready
from barnabas.node.process import run_loop, run_until_stopped
from barnabas.telemetry.logs import FORMAT_VARIABLE, LEVELS, EventLog, LogFormat


def register(app: typer.Typer) -> None:
    app.command("server")(server)


def server(
    config: Path | None = typer.Option(None, "--config", help="A server.properties file."),
    override: list[str] = typer.Option([], "--override", help="name=value; takes precedence over the file and the environment."),
    log_level: str = typer.Option("INFO", "--log-level", help=f"One of {', '.join(LEVELS)}."),
    log_format: LogFormat | None = typer.Option(
        None, "--log-format", envvar=FORMAT_VARIABLE, help="How events are written to stderr.", show_default="text on a terminal"
    ),
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
        in_file, overrides = settings_in_file(config), parse_overrides(override)
        from_environment = read_environment({} if no_environment else os.environ, {**in_file, **overrides})
        # Report before any error stops the node: a misspelt variable may be the reason why a
        # setting is missing.
        _report_ignored(from_environment, EventLog(log_level, log_format=log_format))
        settings = parse_node_settings(in_file, from_environment, overrides)
        log = EventLog(log_level, log_format=log_format, node_id=settings.integer("node.id"))
        code = run_loop(run_until_stopped(settings, log, announce, watch_stdin=until_stdin_ends))
    except CannotStart as error:
        raise Refused(str(error)) from error
    raise typer.Exit(code)


def announce(ready: Ready) -> None:
    prometheus = f" prometheus={ready.prometheus_port}" if ready.prometheus_port is not None else ""
    health = f" health={ready.health_port}" if ready.health_port is not None else ""
    typer.echo(f"ready bootstrap={ready.bootstrap} cluster={ready.cluster_id} node={ready.node_id}{prometheus}{health}")


def _report_ignored(from_environment: EnvironmentSettings, log: EventLog) -> None:
    if from_environment.start_script:
        log.info("environment variables for Kafka's start scripts have no effect", variables=from_environment.start_script)
    if from_environment.unknown:
        log.warning("environment variables are ignored, because no setting has these names", variables=from_environment.unknown)
