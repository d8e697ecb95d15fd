"""``barnabas console``: look into clusters, and change them, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.cluster.options import DEFAULT_BOOTSTRAP, Bootstrap, ConfigFile, given
from barnabas.cli.cluster.reach import chosen
from barnabas.cli.errors import Refused
from barnabas.client_settings.errors import SettingsRefused

if TYPE_CHECKING:
    from barnabas.console.settings import ClusterSettings, ConsoleSettings

DEFAULT_NAME = "kafka"

Clusters = Annotated[
    list[str],
    typer.Option("--cluster", metavar="NAME=HOST:PORT,...", help="A cluster and the name that it has here; may be given several times."),
]
ConsoleFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Clusters and settings of the console, in YAML."),
]
Listen = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help="The address to listen on; 127.0.0.1:8088 if not given."),
]
Login = Annotated[
    str | None, typer.Option("--login", metavar="MODE", help="How people log in: none, users of the cluster, oidc or header.")
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Refuse all changes.")]
Registry = Annotated[
    str | None, typer.Option("--registry", metavar="URL", help="The schema registry of clusters that the file names none for.")
]
RegistryLogins = Annotated[
    bool, typer.Option("--registry-logins", help="Log in at the registry with the user and password of the cluster.")
]
AuditFile = Annotated[Path | None, typer.Option("--audit-file", metavar="FILE", help="Append each change to this file, as a line of JSON.")]
Certificate = Annotated[Path | None, typer.Option("--tls-certificate", metavar="FILE", help="Serve HTTPS with this certificate chain.")]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The private key of the certificate.")]
OtlpEndpoint = Annotated[
    str | None,
    typer.Option(
        "--otlp-endpoint",
        metavar="URL",
        envvar="KAFKA_BARNABAS_OTLP_ENDPOINT",
        help="Push the metrics of the console to this OpenTelemetry collector, as OTLP over HTTP.",
    ),
]
WithParent = Annotated[bool, typer.Option("--with-parent", help="Stop when the process that started this one has ended.")]


def register(app: typer.Typer) -> None:
    app.command("console")(console)


def console(
    cluster: Clusters = [],  # noqa: B006
    config: ConsoleFile = None,
    listen: Listen = None,
    login: Login = None,
    read_only: ReadOnly = False,
    registry: Registry = None,
    registry_logins: RegistryLogins = False,
    audit_file: AuditFile = None,
    tls_certificate: Certificate = None,
    tls_key: Key = None,
    otlp_endpoint: OtlpEndpoint = None,
    with_parent: WithParent = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Serve the web console until SIGTERM or Ctrl-C.

    It shows clusters, topics, records and groups in a browser, and changes them. It works with any
    Kafka cluster. Without a login it listens on this machine only; with one, it acts as the user
    that is logged in. A cluster without a name of its own is called kafka.
    """
    if with_parent:
        from barnabas.devcluster.ephemeral import end_with_parent

        end_with_parent()
    try:
        from barnabas.console.process import run_console
    except ImportError as missing:
        raise Refused(f"The console needs more packages ({missing.name}): pip install 'barnabas[console]'.") from missing
    try:
        settings = _settings(cluster, config, listen, login, bootstrap, config_file)
        if registry is not None:
            settings = _with_registry(settings, registry, registry_logins)
        settings = _with_options(settings, read_only, audit_file, tls_certificate, tls_key)
        if otlp_endpoint:
            settings = _with_otlp(settings, otlp_endpoint)
        problem = run_console(settings, ready=lambda url: typer.echo(f"ready console={url}"))
    except SettingsRefused as refused:
        raise Refused(str(refused)) from refused
    if problem is not None:
        raise Refused(problem)


def _settings(
    clusters: list[str],
    config: Path | None,
    listen: str | None,
    login: str | None,
    bootstrap: str | None,
    config_file: Path | None,
) -> ConsoleSettings:
    from dataclasses import replace

    from barnabas.console.config_file import listen_address, login_mode, read_config_file
    from barnabas.console.settings import ConsoleSettings

    settings = read_config_file(config) if config is not None else ConsoleSettings(())
    choice, _ = chosen(bootstrap, config_file, given.get())
    added = [_named(each, choice.properties) for each in clusters]
    if not added and (not settings.clusters or bootstrap is not None):
        added = [_named(f"{DEFAULT_NAME}={choice.addresses or DEFAULT_BOOTSTRAP}", choice.properties)]
    settings = replace(settings, clusters=(*settings.clusters, *added))
    if listen is not None:
        host, port = listen_address(listen)
        settings = replace(settings, host=host, port=port)
    return settings if login is None else replace(settings, login=login_mode(login))


def _named(text: str, properties: dict[str, str]) -> ClusterSettings:
    from barnabas.cli.cluster.reach import check_addresses
    from barnabas.console.settings import ClusterSettings

    name, equals, addresses = text.partition("=")
    if not equals:
        raise Refused(f"--cluster takes NAME=HOST:PORT, and not {text!r}.")
    check_addresses(addresses)
    return ClusterSettings(name, addresses, properties)


def _with_registry(settings: ConsoleSettings, url: str, logins: bool) -> ConsoleSettings:
    from dataclasses import replace

    login = "user" if logins else "url"
    clusters = (each if each.registry is not None else replace(each, registry=url, registry_login=login) for each in settings.clusters)
    return replace(settings, clusters=tuple(clusters))


def _with_otlp(settings: ConsoleSettings, endpoint: str) -> ConsoleSettings:
    """Headers may hold a token, so they are in the environment or in the file, and not on the
    command line."""
    import os
    from dataclasses import replace

    from barnabas.console.config_file import otlp_headers
    from barnabas.console.settings import OtlpSettings

    found = settings.otlp or OtlpSettings(endpoint)
    headers, interval = os.environ.get("KAFKA_BARNABAS_OTLP_HEADERS"), os.environ.get("KAFKA_BARNABAS_OTLP_INTERVAL_MS", "")
    if interval and not interval.isdecimal():
        raise SettingsRefused(f"KAFKA_BARNABAS_OTLP_INTERVAL_MS is a number of milliseconds, and not {interval!r}.")
    return replace(
        settings,
        otlp=OtlpSettings(
            endpoint, found.headers if headers is None else otlp_headers(headers), int(interval) if interval else found.interval_ms
        ),
    )


def _with_options(
    settings: ConsoleSettings, read_only: bool, audit_file: Path | None, certificate: Path | None, key: Path | None
) -> ConsoleSettings:
    from dataclasses import replace

    return replace(
        settings,
        read_only=settings.read_only or read_only,
        audit_file=str(audit_file) if audit_file is not None else settings.audit_file,
        certificate_file=str(certificate) if certificate is not None else settings.certificate_file,
        key_file=str(key) if key is not None else settings.key_file,
    )
