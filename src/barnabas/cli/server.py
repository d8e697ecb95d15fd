"""``barnabas server``: one node, or with ``--processes`` several nodes that share a machine,
configured like Kafka.
"""

from __future__ import annotations

import os
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.node_settings import parse_node_settings, settings_in_file
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.config.environment import EnvironmentSettings, read_environment
from barnabas.env.real_disk import RealDisk
from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Ready
from barnabas.node.process import run_loop, run_until_stopped
from barnabas.supervisor.directories import refuse_data_of_others
from barnabas.supervisor.process_count import PROCESSES_VARIABLE
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
    processes: str | None = typer.Option(
        None,
        "--processes",
        envvar=PROCESSES_VARIABLE,
        metavar="N|auto",
        help="Run N brokers in processes of their own, with settings derived from the one file; auto is one for each core.",
    ),
    no_environment: bool = typer.Option(False, "--no-environment", help="Ignore KAFKA_... variables."),
    until_stdin_ends: bool = typer.Option(False, "--until-stdin-ends", hidden=True, help="Stop when the parent process ends."),
    one_of_several: bool = typer.Option(False, "--one-of-several", hidden=True, help="A supervisor looks after this process."),
) -> None:
    """Run one node until SIGTERM or Ctrl-C.

    Settings come from the file, from KAFKA_... variables (KAFKA_LOG_DIRS is log.dirs) and from
    --override; later sources take precedence.

    With --processes a supervisor runs several brokers on this machine, restarts those that crash,
    and has one log and one metrics page for all; docs/processes.md tells more.
    """
    if log_level not in LEVELS:
        raise Refused(f"--log-level must be one of {', '.join(LEVELS)}, but is {log_level!r}.")
    try:
        in_file, overrides = settings_in_file(config), parse_overrides(override)
        from_environment = read_environment({} if no_environment else os.environ, {**in_file, **overrides})
        if not one_of_several:
            # Report before any error stops the node: a misspelt variable may be the reason why a
            # setting is missing.
            _report_ignored(from_environment, EventLog(log_level, log_format=log_format))
        settings = parse_node_settings(in_file, from_environment, overrides)
        if processes is not None:
            from barnabas.cli.processes import run_processes

            code = run_processes(
                processes,
                settings,
                lambda derived: parse_node_settings(in_file, from_environment, {**overrides, **derived}),
                _arguments(config, override, log_level, no_environment=no_environment),
                EventLog(log_level, log_format=log_format),
            )
            raise typer.Exit(code)
        if not one_of_several:
            refuse_data_of_others(RealDisk(), settings, started=[], given="`barnabas server` without --processes")
        log = EventLog(log_level, log_format=log_format, node_id=settings.integer("node.id"))
        code = run_loop(run_until_stopped(settings, log, announce, watch_stdin=until_stdin_ends))
    except CannotStart as error:
        raise Refused(str(error)) from error
    raise typer.Exit(code)


def _arguments(config: Path | None, override: list[str], log_level: str, *, no_environment: bool) -> list[str]:
    """Those of a process that reads the same settings as this one."""
    arguments = [] if config is None else ["--config", str(config)]
    arguments += [f"--override={each}" for each in override]
    arguments += ["--no-environment"] if no_environment else []
    return [*arguments, "--log-level", log_level]


def announce(ready: Ready) -> None:
    prometheus = f" prometheus={ready.prometheus_port}" if ready.prometheus_port is not None else ""
    health = f" health={ready.health_port}" if ready.health_port is not None else ""
    typer.echo(f"ready bootstrap={ready.bootstrap} cluster={ready.cluster_id} node={ready.node_id}{prometheus}{health}")


def _report_ignored(from_environment: EnvironmentSettings, log: EventLog) -> None:
    if from_environment.start_script:
        log.info("environment variables for Kafka's start scripts have no effect", variables=from_environment.start_script)
    if from_environment.unknown:
        log.warning("environment variables are ignored, because no setting has these names", variables=from_environment.unknown)
