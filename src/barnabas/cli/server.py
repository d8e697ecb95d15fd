"""``barnabas server``: one node, configured as Kafka is."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from barnabas.cli.main import Refused
from barnabas.cli.overrides import parse_overrides
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.node.cannot_start import CannotStart
from barnabas.node.node import Ready
from barnabas.node.process import parse_settings, run_loop, run_until_stopped
from barnabas.telemetry.logs import LEVELS, Log

_ENVIRONMENT_PREFIX = "KAFKA_"


def register(app: typer.Typer) -> None:
    app.command("server")(server)


def server(
    config: Path | None = typer.Option(None, "--config", help="A server.properties file."),
    override: list[str] = typer.Option([], "--override", help="name=value; stronger than the file and the environment."),
    log_level: str = typer.Option("INFO", "--log-level", help=f"One of {', '.join(LEVELS)}."),
    until_stdin_ends: bool = typer.Option(False, "--until-stdin-ends", hidden=True, help="Stop when the parent process is gone."),
) -> None:
    """Run one node until it is told to stop."""
    if log_level not in LEVELS:
        raise Refused(f"--log-level must be one of {', '.join(LEVELS)}, but is {log_level!r}.")
    try:
        properties = {**_from_file(config), **_from_environment(dict(os.environ)), **parse_overrides(override)}
        settings = parse_settings(properties)
        log = Log(log_level, node_id=settings.integer("node.id"))
        code = run_loop(run_until_stopped(settings, log, announce, watch_stdin=until_stdin_ends))
    except CannotStart as wrong:
        raise Refused(str(wrong)) from wrong
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
    except ConfigError as wrong:
        raise Refused(f"{path}: {wrong}") from wrong


def _from_environment(environment: dict[str, str]) -> dict[str, str]:
    """``KAFKA_LOG_DIRS`` is ``log.dirs``, as in the images people run Kafka from; an underscore is written as three."""
    found = {}
    for name, value in environment.items():
        if name.startswith(_ENVIRONMENT_PREFIX) and name not in _NOT_SETTINGS:
            parts = name.removeprefix(_ENVIRONMENT_PREFIX).lower().split("___")
            found["_".join(part.replace("__", "-").replace("_", ".") for part in parts)] = value
    return found


# Variables of Kafka's start scripts and of our own tests.
_NOT_SETTINGS = frozenset({"KAFKA_JARS", "KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_HOME"})
