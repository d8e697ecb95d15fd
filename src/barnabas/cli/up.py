"""``barnabas up``: a development cluster in one command. It prints one line when the cluster is
ready.

A single broker runs in this process; several brokers are processes of their own. When one of those
dies, a message says so and the others continue.

With ``--ephemeral`` the cluster belongs to the program that started it, which is a test in any
language: it has a temporary directory and free ports, and it ends with that program.

With ``--secure`` every connection uses SASL_SSL. Further lines, or keys of the JSON, then name the
files that a client needs; the password is in these files and not in the output.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.server import announce
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.config.schema_validation import CONFLUENT_URL, REGISTRY_URL
from barnabas.config.settings import BrokerSettings
from barnabas.devcluster.development import LOCALHOST, SECURE_LISTENER, development_properties
from barnabas.devcluster.development_cluster import DevelopmentCluster, StopAsked, existing_controllers
from barnabas.devcluster.ephemeral import EphemeralDirectory, end_with_parent
from barnabas.devcluster.one_node import fitted
from barnabas.env.real_disk import RealDisk
from barnabas.model.cannot_start import CannotStart
from barnabas.node.node import Ready
from barnabas.node.process import ensure_formatted, parse_settings, run_loop, run_until_stopped
from barnabas.supervisor.node_events import NodeEnded
from barnabas.supervisor.process_count import process_count, usable_cores
from barnabas.telemetry.logs import FORMAT_VARIABLE, EventLog, LogFormat

if TYPE_CHECKING:
    from barnabas.cli.console.beside import ConsoleBeside
    from barnabas.cli.registry.beside import RegistryBeside
    from barnabas.devcluster.secure import SecureFiles

DEFAULT_DATA_DIR = Path(".barnabas/data")
DEFAULT_PORT = 9092
DEFAULT_REGISTRY_PORT = 8081
DEFAULT_CONSOLE_PORT = 8088
# Each is a process of about 50 MB; a development machine has room for this many.
BROKERS_MAX = 32


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def up(
    brokers_given: str = typer.Option(
        "1", "--brokers", metavar="N|auto", help="The number of brokers; several run as separate processes, and auto is one for each core."
    ),
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
    secure: bool = typer.Option(
        False, "--secure", help="Encrypt and authenticate every connection; certificates and an admin user are made in DIR/secure."
    ),
    show_password: bool = typer.Option(False, "--show-password", help="With --secure: also print the password of the admin user."),
    registry: bool = typer.Option(False, "--registry", help="Run a schema registry, too; it prints a ready line of its own."),
    registry_port: int | None = typer.Option(
        None,
        "--registry-port",
        help=f"The port of the registry, {DEFAULT_REGISTRY_PORT} unless given; 0, or --ephemeral, chooses a free one.",
    ),
    console: bool = typer.Option(False, "--console", help="Run the web console, too; it prints a ready line of its own."),
    console_port: int | None = typer.Option(
        None, "--console-port", help=f"The port of the console, {DEFAULT_CONSOLE_PORT} unless given; 0, or --ephemeral, chooses a free one."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the ready line as JSON."),
) -> None:
    """Start a development cluster; Ctrl-C or SIGTERM stops it.

    Settings come from --override alone: KAFKA_... variables, which may be meant for other programs,
    have no effect.

    With --ephemeral the cluster also stops when its parent process ends, or when a pipe at its
    standard input is closed, and removes its data.

    With --registry the schemas are in the same cluster; docs/registry.md tells how to use them.

    With --console the cluster is shown in a browser on this machine; docs/console.md tells more.

    With --secure clients log in as the user admin over TLS; the output names the files of
    properties that they need.
    """
    overrides = parse_overrides(override)
    try:
        brokers = process_count(brokers_given, cores=usable_cores(), option="--brokers", count_max=BROKERS_MAX)
    except ValueError as error:
        raise Refused(str(error)) from error
    if ephemeral and data_dir is not None:
        raise Refused("--ephemeral has a temporary directory of its own, so --data-dir cannot be given with it.")
    if show_password and not secure:
        raise Refused("--show-password belongs to --secure: other clusters have no password.")
    chosen_port = port if port is not None else (0 if ephemeral else DEFAULT_PORT)
    with ExitStack() as at_end:
        if ephemeral:
            directory = at_end.enter_context(EphemeralDirectory())
            end_with_parent()
        else:
            directory = data_dir or DEFAULT_DATA_DIR
        try:
            made = _secure_files(directory, brokers, host) if secure else None
            beside: list[RegistryBeside | ConsoleBeside] = []
            if registry or registry_port is not None:
                served = _registry_beside(host, _port(registry_port, DEFAULT_REGISTRY_PORT, ephemeral))
                beside.append(served)
                if not secure and CONFLUENT_URL not in overrides:
                    # So that topics may require schemas. A secured registry wants a login, too.
                    overrides.setdefault(REGISTRY_URL, served.url)
            if console or console_port is not None:
                beside.append(_console_beside(_port(console_port, DEFAULT_CONSOLE_PORT, ephemeral), beside))
            for each in beside:
                at_end.callback(each.stop)
            announcement = Announcement(as_json=as_json, secure=made, shows_password=show_password, beside=beside)
            if brokers > 1:
                cluster = DevelopmentCluster(
                    brokers, data_dir=directory, host=host, port=chosen_port, metrics_port=metrics_port, overrides=overrides, secure=made
                )
                _run_several(cluster, announcement, hurry=not ephemeral)
                return
            if len(existing_controllers(directory)) > 1:
                raise Refused(f"{directory} holds a cluster of several nodes, so --brokers must say how many.")
            if metrics_port:
                overrides.setdefault("barnabas.prometheus.listener", f"{host}:{metrics_port}")
            if made is not None:
                overrides = made.node_properties(1) | overrides
            listener = SECURE_LISTENER if secure else "PLAINTEXT"
            data = str(directory / "node-1")
            overrides = fitted(overrides, disk=RealDisk(), data_dir=data, host=host)
            properties = development_properties(host=host, port=chosen_port, data_dir=data, listener=listener, overrides=overrides)
            code = _run_one(properties, announcement, hurry=not ephemeral)
        except CannotStart as error:
            raise Refused(str(error)) from error
    raise typer.Exit(code)


def _secure_files(directory: Path, brokers: int, host: str) -> SecureFiles:
    # Only a secured cluster needs the library for certificates, which takes long to load.
    import datetime

    from barnabas.devcluster.secure import SecureFiles

    return SecureFiles(directory, nodes=range(1, brokers + 1), host=host, now=datetime.datetime.now(datetime.UTC))


def _port(given: int | None, usual: int, ephemeral: bool) -> int:
    return given if given is not None else 0 if ephemeral else usual


def _registry_beside(host: str, port: int) -> RegistryBeside:
    """A free port is chosen here, because other programs must know it."""
    from importlib.util import find_spec

    from barnabas.cli.beside import free_port
    from barnabas.cli.registry.beside import RegistryBeside

    if find_spec("uvicorn") is None:
        raise Refused("The registry needs more packages: pip install 'barnabas[registry]'.")
    return RegistryBeside(host, port or free_port(host))


def _console_beside(port: int, beside: list[RegistryBeside | ConsoleBeside]) -> ConsoleBeside:
    from importlib.util import find_spec

    from barnabas.cli.console.beside import ConsoleBeside
    from barnabas.cli.registry.beside import RegistryBeside

    if find_spec("uvicorn") is None or find_spec("jinja2") is None:
        raise Refused("The console needs more packages: pip install 'barnabas[console]'.")
    registry = next((each.url for each in beside if isinstance(each, RegistryBeside)), None)
    return ConsoleBeside(port, registry)


class Announcement:
    """The lines that tell how to reach a cluster, once it is ready."""

    def __init__(
        self, *, as_json: bool, secure: SecureFiles | None, shows_password: bool, beside: list[RegistryBeside | ConsoleBeside]
    ) -> None:
        self._beside = beside
        self._as_json = as_json
        self._secure = secure
        self._shows_password = shows_password

    async def prepare(self, settings: BrokerSettings, bootstrap: str) -> None:
        """Raises ``CannotStart``."""
        if self._secure is not None:
            from barnabas.devcluster.admin_user import ensure_admin

            await ensure_admin(settings, bootstrap, self._secure.admin_password)
            self._secure.write_client_files(bootstrap)

    def of_one(self, ready: Ready) -> None:
        if self._as_json:
            self._print_json(bootstrap=ready.bootstrap, cluster=ready.cluster_id, pids=[os.getpid()])
        else:
            announce(ready)
            self._print_secure()
        self._start_beside(ready.bootstrap)

    def of_several(self, cluster: DevelopmentCluster) -> None:
        if self._as_json:
            self._print_json(bootstrap=cluster.bootstrap, cluster=cluster.cluster_id, pids=cluster.pids)
        else:
            typer.echo(f"ready bootstrap={cluster.bootstrap} cluster={cluster.cluster_id} pids={','.join(map(str, cluster.pids))}")
            self._print_secure()
        self._start_beside(cluster.bootstrap)

    def _start_beside(self, bootstrap: str) -> None:
        for each in self._beside:
            sys.stdout.flush()
            each.start(bootstrap, self._secure.client_file if self._secure is not None else None)

    def _print_json(self, *, bootstrap: str, cluster: str, pids: list[int]) -> None:
        values: dict[str, object] = {"bootstrap": bootstrap, "cluster": cluster, "pids": pids}
        files = self._secure
        if files is not None:
            values |= {
                "security_protocol": "SASL_SSL",
                "user": "admin",
                "client_properties": str(files.client_file),
                "librdkafka_properties": str(files.librdkafka_file),
                "ca": str(files.trusted),
            }
            if self._shows_password:
                values["password"] = files.admin_password
        typer.echo(json.dumps(values))

    def _print_secure(self) -> None:
        files = self._secure
        if files is None:
            return
        password = f"password {files.admin_password}" if self._shows_password else "the password is in the files"
        typer.echo(f"The user is admin, with SCRAM-SHA-512 over SASL_SSL; {password}.")
        typer.echo(f"  barnabas       --config-file {files.client_file}")
        typer.echo(f"  Kafka's tools  --command-config {files.client_file}")
        typer.echo(f"  librdkafka     kcat -F {files.librdkafka_file} -L")
        typer.echo(f"  certificate    {files.trusted}")
        typer.echo(f"Save it as a profile: barnabas profile add secure --config-file {files.client_file} --use")


def _run_one(properties: dict[str, str], announcement: Announcement, *, hurry: bool) -> int:
    settings = parse_settings(properties)
    ensure_formatted(settings)

    async def before_ready(ready: Ready) -> None:
        await announcement.prepare(settings, ready.bootstrap)

    log = EventLog("WARN", node_id=settings.integer("node.id"))
    return run_loop(run_until_stopped(settings, log, announcement.of_one, before_ready=before_ready, hurry=hurry))


def _run_several(cluster: DevelopmentCluster, announcement: Announcement, *, hurry: bool) -> None:
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
    try:
        run_loop(announcement.prepare(cluster.settings(1), cluster.bootstrap))
    except BaseException:
        cluster.kill()
        raise
    announcement.of_several(cluster)
    while not isinstance(event := cluster.watch(), StopAsked):
        if isinstance(event, NodeEnded):
            again = f"barnabas server --no-environment --config {cluster.properties_file(event.node_id)}"
            typer.echo(f"barnabas: Node {event.node_id} has stopped: {event.how} Start it again with: {again}", err=True)
    cluster.stop()
