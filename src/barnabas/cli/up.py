"""``barnabas up``: a cluster for development in one command. What it prints is one line, when it serves.

One broker runs in this process, several are processes of their own: one that dies is said to have died, and the others go on.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.server import announce
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.model.cannot_start import CannotStart
from barnabas.devcluster.child_node import NodeEnded
from barnabas.devcluster.development import LOCALHOST, development_properties
from barnabas.devcluster.development_cluster import DevelopmentCluster, StopAsked, existing_controllers
from barnabas.node.process import ensure_formatted, parse_settings, run_loop, run_until_stopped
from barnabas.telemetry.logs import Log

DEFAULT_DATA_DIR = Path(".barnabas/data")
# Each is a process with some 50 MB; a machine for development has room for so many.
BROKERS_MAX = 32


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def up(
    brokers: int = typer.Option(1, "--brokers", min=1, max=BROKERS_MAX, help="How many; several are processes of their own."),
    port: int = typer.Option(9092, "--port", help="Where clients connect, to the first of several; 0 chooses a free port."),
    host: str = typer.Option(LOCALHOST, "--host", help="The address to listen on and to advertise."),
    data_dir: Path = typer.Option(DEFAULT_DATA_DIR, "--data-dir", help="Kept, and found again by the next start."),
    metrics_port: int = typer.Option(0, "--metrics-port", help="Where Prometheus may scrape the first node; 0 for nowhere."),
    override: list[str] = typer.Option([], "--override", help="name=value, with Kafka's names."),
) -> None:
    """Start a development cluster; Ctrl-C or SIGTERM stops it.

    Settings come from --override alone: KAFKA_... variables, which may be meant for other programs, have no effect.
    """
    overrides = parse_overrides(override)
    try:
        if brokers > 1:
            _run_several(
                DevelopmentCluster(brokers, data_dir=data_dir, host=host, port=port, metrics_port=metrics_port, overrides=overrides)
            )
            return
        if len(existing_controllers(data_dir)) > 1:
            raise Refused(f"{data_dir} holds a cluster of several nodes, so --brokers must say how many.")
        if metrics_port:
            overrides.setdefault("barnabas.prometheus.listener", f"{host}:{metrics_port}")
        settings = parse_settings(development_properties(host=host, port=port, data_dir=str(data_dir / "node-1"), overrides=overrides))
        ensure_formatted(settings)
        code = run_loop(run_until_stopped(settings, Log("WARN", node_id=1), announce))
    except CannotStart as wrong:
        raise Refused(str(wrong)) from wrong
    raise typer.Exit(code)


def _run_several(cluster: DevelopmentCluster) -> None:
    asked = 0

    def ask_to_stop(*_: object) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            cluster.kill()
            os._exit(1)
        cluster.events.put(StopAsked())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask_to_stop)
    cluster.start()
    typer.echo(f"ready bootstrap={cluster.bootstrap} cluster={cluster.cluster_id} pids={','.join(map(str, cluster.pids))}")
    while not isinstance(event := cluster.watch(), StopAsked):
        if isinstance(event, NodeEnded):
            again = f"barnabas server --no-environment --config {cluster.properties_file(event.node_id)}"
            typer.echo(f"barnabas: Node {event.node_id} is gone: {event.how} It can be started again: {again}", err=True)
    cluster.stop()
