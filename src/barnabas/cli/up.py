"""``barnabas up``: a development cluster in one command. It prints one line when the cluster is
ready.

A single broker runs in this process; several brokers are processes of their own. When one of those
dies, a message says so and the others continue.

With ``--ephemeral`` the cluster belongs to the program that started it, which is a test in any
language: it has a temporary directory and free ports, and it ends with that program.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.server import announce
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.devcluster.child_node import NodeEnded
from barnabas.devcluster.development import LOCALHOST, development_properties
from barnabas.devcluster.development_cluster import DevelopmentCluster, StopAsked, existing_controllers
from barnabas.devcluster.ephemeral import EphemeralDirectory, end_with_parent
from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Ready
from barnabas.node.process import ensure_formatted, parse_settings, run_loop, run_until_stopped
from barnabas.telemetry.logs import FORMAT_VARIABLE, EventLog, LogFormat

DEFAULT_DATA_DIR = Path(".barnabas/data")
DEFAULT_PORT = 9092
# Each is a process of about 50 MB; a development machine has room for this many.
BROKERS_MAX = 32


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def up(
    brokers: int = typer.Option(1, "--brokers", min=1, max=BROKERS_MAX, help="The number of brokers; several run as separate processes."),
    port: int | None = typer.Option(
        None, "--port", help=f"The port of the first broker, {DEFAULT_PORT} unless given; 0, or --ephemeral without it, chooses a free one."
    ),
    host: str = typer.Option(LOCALHOST, "--host", help="The address to listen on and to advertise."),
    data_dir: Path | None = typer.Option(
        None, "--data-dir", help=f"Directory for the data; reused by the next start. {DEFAULT_DATA_DIR} unless given."
    ),
    metrics_port: int = typer.Option(0, "--metrics-port", help="Port for Prometheus to scrape the first node; 0 for none."),
    override: list[str] = typer.Option([], "--override", help="name=value, with Kafka's names."),
    ephemeral: bool = typer.Option(
        False, "--ephemeral", help="For tests: temporary data and free ports; the cluster ends with the process that started it."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the ready line as JSON."),
) -> None:
    """Start a development cluster; Ctrl-C or SIGTERM stops it.

    Settings come from --override alone: KAFKA_... variables, which may be meant for other programs,
    have no effect.

    With --ephemeral the cluster also stops when its parent process ends, or when a pipe at its
    standard input is closed, and removes its data.
    """
    overrides = parse_overrides(override)
    if ephemeral and data_dir is not None:
        raise Refused("--ephemeral has a temporary directory of its own, so --data-dir cannot be given with it.")
    chosen_port = port if port is not None else (0 if ephemeral else DEFAULT_PORT)
    with ExitStack() as at_end:
        if ephemeral:
            directory = at_end.enter_context(EphemeralDirectory())
            end_with_parent()
        else:
            directory = data_dir or DEFAULT_DATA_DIR
        try:
            if brokers > 1:
                cluster = DevelopmentCluster(
                    brokers, data_dir=directory, host=host, port=chosen_port, metrics_port=metrics_port, overrides=overrides
                )
                _run_several(cluster, as_json=as_json, hurry=not ephemeral)
                return
            if len(existing_controllers(directory)) > 1:
                raise Refused(f"{directory} holds a cluster of several nodes, so --brokers must say how many.")
            if metrics_port:
                overrides.setdefault("barnabas.prometheus.listener", f"{host}:{metrics_port}")
            properties = development_properties(host=host, port=chosen_port, data_dir=str(directory / "node-1"), overrides=overrides)
            code = _run_one(properties, announce_json if as_json else announce, hurry=not ephemeral)
        except CannotStart as error:
            raise Refused(str(error)) from error
    raise typer.Exit(code)


def announce_json(ready: Ready) -> None:
    _print_json(bootstrap=ready.bootstrap, cluster=ready.cluster_id, pids=[os.getpid()])


def _print_json(*, bootstrap: str, cluster: str, pids: list[int]) -> None:
    typer.echo(json.dumps({"bootstrap": bootstrap, "cluster": cluster, "pids": pids}))


def _run_one(properties: dict[str, str], on_ready: Callable[[Ready], None], *, hurry: bool) -> int:
    settings = parse_settings(properties)
    ensure_formatted(settings)
    return run_loop(run_until_stopped(settings, EventLog("WARN", node_id=1), on_ready, hurry=hurry))


def _run_several(cluster: DevelopmentCluster, *, as_json: bool, hurry: bool) -> None:
    """A second signal kills the nodes, unless ``hurry`` is False: a test that ends may send one and
    close the pipe as well."""
    asked = 0

    def ask_to_stop(*_: object) -> None:
        nonlocal asked
        asked += 1
        if asked > 1 and hurry:
            cluster.kill()
            os._exit(1)
        cluster.events.put(StopAsked())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask_to_stop)
    if sys.stderr.isatty():
        # The nodes write to a pipe, and a person reads what this process makes of it.
        os.environ.setdefault(FORMAT_VARIABLE, LogFormat.TEXT.value)
    cluster.start()
    if as_json:
        _print_json(bootstrap=cluster.bootstrap, cluster=cluster.cluster_id, pids=cluster.pids)
    else:
        typer.echo(f"ready bootstrap={cluster.bootstrap} cluster={cluster.cluster_id} pids={','.join(map(str, cluster.pids))}")
    while not isinstance(event := cluster.watch(), StopAsked):
        if isinstance(event, NodeEnded):
            again = f"barnabas server --no-environment --config {cluster.properties_file(event.node_id)}"
            typer.echo(f"barnabas: Node {event.node_id} has stopped: {event.how} Start it again with: {again}", err=True)
    cluster.stop()
