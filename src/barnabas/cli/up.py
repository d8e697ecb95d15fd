"""``barnabas up``: a cluster for development in one command. What it prints is one line, when it serves."""

from __future__ import annotations

from pathlib import Path

import typer

from barnabas.cli.main import Refused
from barnabas.cli.overrides import parse_overrides
from barnabas.cli.server import announce
from barnabas.node.cannot_start import CannotStart
from barnabas.node.development import LOCALHOST, development_properties
from barnabas.node.process import ensure_formatted, parse_settings, run_loop, run_until_stopped
from barnabas.telemetry.logs import Log

DEFAULT_DATA_DIR = Path(".barnabas/data")


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def up(
    brokers: int = typer.Option(1, "--brokers", help="How many brokers; more than one arrives with replication."),
    port: int = typer.Option(9092, "--port", help="Where clients connect; 0 chooses a free port."),
    host: str = typer.Option(LOCALHOST, "--host", help="The address to listen on and to advertise."),
    data_dir: Path = typer.Option(DEFAULT_DATA_DIR, "--data-dir", help="Kept, and found again by the next start."),
    metrics_port: int = typer.Option(0, "--metrics-port", help="Where Prometheus may scrape; 0 for nowhere."),
    override: list[str] = typer.Option([], "--override", help="name=value, with Kafka's names."),
) -> None:
    """Start a development cluster; Ctrl-C or SIGTERM stops it."""
    if brokers != 1:
        raise Refused(f"--brokers must be 1, not {brokers}: clusters of several brokers arrive with replication.")
    overrides = parse_overrides(override)
    if metrics_port:
        overrides.setdefault("barnabas.prometheus.listener", f"{host}:{metrics_port}")
    properties = development_properties(host=host, port=port, data_dir=str(data_dir / "node-1"), overrides=overrides)
    try:
        settings = parse_settings(properties)
        ensure_formatted(settings)
        code = run_loop(run_until_stopped(settings, Log("WARN", node_id=1), announce))
    except CannotStart as wrong:
        raise Refused(str(wrong)) from wrong
    raise typer.Exit(code)
