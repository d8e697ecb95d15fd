"""``barnabas doctor``: find out why something does not work, before asking anyone."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.cluster.client import DEFAULT_BOOTSTRAP, Bootstrap, ConfigFile, reach
from barnabas.cli.cluster.options import given
from barnabas.cli.doctor import cluster as cluster_checks, directories, environment, installed, machine, ports
from barnabas.cli.doctor.finding import Check, Finding, State, ok, problem, run_check
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json
from barnabas.config.addresses import host_and_port
from barnabas.config.environment import read_environment
from barnabas.config.keys import ConfigError
from barnabas.config.listeners import advertised_listeners, listeners
from barnabas.config.parse import parse_broker_config
from barnabas.config.properties import read_properties
from barnabas.config.providers import resolve
from barnabas.config.settings import BrokerSettings
from barnabas.env.config_sources import SystemSources
from barnabas.logcare.directories.node_directories import log_directory_paths

DEVELOPMENT_PORT = 9092
DEVELOPMENT_DATA = Path(".barnabas/data")

_COLOURS = {State.OK: typer.colors.GREEN, State.WARNING: typer.colors.YELLOW, State.PROBLEM: typer.colors.RED}
_STATE_WIDTH = 9
_WIDTH_MIN = 60

Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The server.properties of a node: check what it needs.")]


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(as_json: AsJson = False, config: Config = None, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """Check this machine, the configuration of a node, and a running cluster.

    Without options it checks what `barnabas up` needs. --config checks what a node needs with this
    file: its ports, directories and addresses. --bootstrap checks a running cluster: whether this
    machine reaches every broker at the address that it advertises, and whether the clocks agree.

    A line says ok, warning or problem, and how to fix it. The exit code is 1 if there is a
    problem.
    """
    found: list[Finding] = []
    for name, check in _checks(config, bootstrap, config_file):
        findings = run_check(name, check)
        found += findings
        if not as_json:
            for each in findings:
                _print(each)
    if as_json:
        print_json([{"check": each.check, "state": each.state.value, "fact": each.fact, "advice": each.advice} for each in found])
    if any(each.state is State.PROBLEM for each in found):
        raise typer.Exit(1)


def _checks(config: Path | None, bootstrap: str | None, config_file: Path | None) -> Iterator[tuple[str, Check]]:
    names_cluster = bootstrap is not None or config_file is not None or given.get().secure
    yield "versions", installed.versions
    yield "record scanner", installed.record_scanner
    yield "java", installed.java
    yield "spark", installed.spark
    yield "descriptors", machine.descriptors
    yield "clock", machine.clock
    yield "swapping", machine.swapping
    properties = _read(config) if config is not None else {}
    yield "environment", partial(environment.variables, properties)
    if config is not None:
        yield from _node_checks(config, properties)
    elif not names_cluster:
        yield f"port {DEVELOPMENT_PORT}", partial(ports.port, "127.0.0.1", DEVELOPMENT_PORT, "`barnabas up`")
        yield f"disk {DEVELOPMENT_DATA}", partial(directories.directory, DEVELOPMENT_DATA, formatted=False)
    if names_cluster:
        # A check runs in a thread, which does not have the options of this command by itself.
        yield "cluster", partial(copy_context().run, lambda: list(_cluster(bootstrap, config_file)))


# -- a node ----------------------------------------------------------------------------------------


def _read(path: Path) -> dict[str, str]:
    try:
        return read_properties(path.read_text("latin-1"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except ConfigError as error:
        raise Refused(f"{path}: {error}") from error


def _node_checks(path: Path, properties: dict[str, str]) -> Iterator[tuple[str, Check]]:
    """As `barnabas server` would see them, variables of the environment included."""
    name = "configuration"
    in_force = {**properties, **read_environment(os.environ, properties).properties}
    try:
        settings = parse_broker_config(resolve(in_force, SystemSources()))
    except ConfigError as error:
        sentence = str(error)
        yield name, lambda: [problem(name, sentence, f"Correct {path}, or the variables of the environment.")]
        return
    fact = f"{path} is valid: node {settings.integer('node.id')}, roles {', '.join(settings.strings('process.roles'))}."
    yield name, lambda: [ok(name, fact)]
    for directory in _directories(settings):
        yield f"disk {directory}", partial(directories.directory, directory, formatted=True)
    for each in listeners(settings):
        yield f"port {each.port}", partial(ports.port, each.host, each.port, f"listener {each.name}")
    for setting in ("barnabas.prometheus.listener", "barnabas.health.listener"):
        place = host_and_port(settings.text(setting)) if settings.text(setting) else None
        if place is not None:
            yield f"port {place[1]}", partial(ports.port, *place, setting)
    yield "advertised listeners", partial(_advertised, settings)


def _directories(settings: BrokerSettings) -> list[Path]:
    metadata = settings.text_or_none("metadata.log.dir")
    return [Path(each) for each in dict.fromkeys([*log_directory_paths(settings), *([os.path.abspath(metadata)] if metadata else [])])]


def _advertised(settings: BrokerSettings) -> Iterable[Finding]:
    """The node may not run yet, so a refused connection is no news. A name that cannot be resolved
    is, and so is an address that no client can use."""
    for each in advertised_listeners(settings):
        name = f"advertised {each.name}"
        if each.host in ("0.0.0.0", "::"):  # noqa: S104 - it is refused, not listened on
            advice = "Set advertised.listeners to an address of this machine."
            yield problem(name, f"It advertises {each.host}, which means every address and which no client can connect to.", advice)
            continue
        finding = cluster_checks.advertised(name, each.host, each.port) if each.host and each.port else None
        if finding is None:
            yield ok(name, "The node advertises its own name, and the port that it gets.")
        elif "refused" in finding.fact:
            yield ok(name, f"{each.host}:{each.port} leads to a machine that answers; no node listens there now.")
        else:
            yield finding


# -- a cluster -------------------------------------------------------------------------------------


def _cluster(bootstrap: str | None, config_file: Path | None) -> Iterable[Finding]:
    try:
        cluster = reach(bootstrap, config_file)
    except Refused as refused:
        advice = f"Start the cluster, or name another address with --bootstrap ({DEFAULT_BOOTSTRAP} is the default of the commands)."
        yield problem("cluster", str(refused), advice)
        return
    yield from cluster_checks.brokers(cluster)
    yield from cluster_checks.clock(cluster)


# -- printing --------------------------------------------------------------------------------------


def _print(finding: Finding) -> None:
    state = finding.state.value.ljust(_STATE_WIDTH)
    text = f"{finding.check}: {finding.fact} {finding.advice}".rstrip()
    if not sys.stdout.isatty():
        typer.echo(f"{state}{text}")
        return
    width = max(_WIDTH_MIN, shutil.get_terminal_size().columns) - _STATE_WIDTH
    first, *rest = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    typer.echo((state if os.environ.get("NO_COLOR") else typer.style(state, fg=_COLOURS[finding.state])) + first)
    for line in rest:
        typer.echo(" " * _STATE_WIDTH + line)
