"""``barnabas up``: a development cluster in one command. It prints one line when the cluster is
ready.

A single broker runs in this process; several brokers are processes of their own. When one of those
dies, a message says so and the others continue.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.server import announce
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.devcluster.child_node import NodeEnded
from barnabas.devcluster.development import LOCALHOST, development_properties
from barnabas.devcluster.development_cluster import DevelopmentCluster, StopAsked, existing_controllers
from barnabas.model.cannot_start import CannotStart
from barnabas.node.process import ensure_formatted, parse_settings, run_loop, run_until_stopped
from barnabas.telemetry.logs import EventLog

DEFAULT_DATA_DIR = Path(".barnabas/data")
# Each is a process of about 50 MB; a development machine has room for this many.
BROKERS_MAX = 32


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def up(
    brokers: int = typer.Option(1, "--brokers", min=1, max=BROKERS_MAX, help="The number of brokers; several run as separate processes."),
    port: int = typer.Option(9092, "--port", help="The port of the first broker; 0 chooses a free one."),
    host: str = typer.Option(LOCALHOST, "--host", help="The address to listen on and to advertise."),
    data_dir: Path = typer.Option(DEFAULT_DATA_DIR, "--data-dir", help="Directory for the data; reused by the next start."),
    metrics_port: int = typer.Option(0, "--metrics-port", help="Port for Prometheus to scrape the first node; 0 for none."),
    override: list[str] = typer.Option([], "--override", help="name=value, with Kafka's names."),
) -> None:
    """Start a development cluster; Ctrl-C or SIGTERM stops it.

    Settings come from --override alone: KAFKA_... variables, which may be meant for other programs,
    have no effect.
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
        code = run_loop(run_until_stopped(settings, EventLog("WARN", node_id=1), announce))
    except CannotStart as error:
        raise Refused(str(error)) from error
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
            typer.echo(f"barnabas: Node {event.node_id} has stopped: {event.how} Start it again with: {again}", err=True)
    cluster.stop()
