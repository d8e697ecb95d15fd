"""``barnabas registry``: a schema registry over any Kafka cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused

DEFAULT_PORT = 8081

Host = Annotated[str, typer.Option("--host", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 chooses a free one.")]
AdvertisedHost = Annotated[
    str | None, typer.Option("--advertised-host", metavar="HOST", help="The host under which other instances reach this one.")
]
Topic = Annotated[str, typer.Option("--topic", metavar="NAME", help="The topic that keeps the schemas.")]
GroupId = Annotated[str, typer.Option("--group", metavar="ID", help="The group in which instances elect their leader.")]
Replicas = Annotated[int, typer.Option("--replication-factor", min=1, help="Replicas of the topic; fewer if there are fewer brokers.")]
Follower = Annotated[bool, typer.Option("--follower", help="Never lead: forward all writes to another instance.")]
Certificate = Annotated[Path | None, typer.Option("--tls-certificate", metavar="FILE", help="Serve HTTPS with this certificate chain.")]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The private key of the certificate.")]
Trusted = Annotated[
    Path | None, typer.Option("--tls-trusted", metavar="FILE", help="The authorities of the other instances' certificates.")
]
Logins = Annotated[bool, typer.Option("--logins", help="Callers log in with a user and password, or a token, of the Kafka cluster.")]
Mechanism = Annotated[
    str | None,
    typer.Option("--login-mechanism", metavar="NAME", help="How users log in at the brokers; as the registry itself if not given."),
]
NoAcls = Annotated[bool, typer.Option("--no-acls", help="With --logins: every user may do everything.")]
SuperUsers = Annotated[
    list[str], typer.Option("--super-user", metavar="User:NAME", help="A user that no ACL restricts; may be given several times.")
]
WithParent = Annotated[bool, typer.Option("--with-parent", help="Stop when the process that started this one has ended.")]


def register(app: typer.Typer) -> None:
    app.command("registry")(registry)


def registry(
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    advertised_host: AdvertisedHost = None,
    topic: Topic = "_schemas",
    group: GroupId = "schema-registry",
    replication_factor: Replicas = 3,
    follower: Follower = False,
    tls_certificate: Certificate = None,
    tls_key: Key = None,
    tls_trusted: Trusted = None,
    logins: Logins = False,
    login_mechanism: Mechanism = None,
    no_acls: NoAcls = False,
    super_user: SuperUsers = [],  # noqa: B006
    with_parent: WithParent = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Run one instance of the schema registry until SIGTERM or Ctrl-C.

    Every client of Confluent's registry works with it. Schemas are kept in a topic of the cluster,
    so instances need no disk; several of them elect a leader, and any of them can be asked.
    """
    if (tls_certificate is None) != (tls_key is None):
        raise Refused("HTTPS needs both --tls-certificate and --tls-key.")
    if with_parent:
        from barnabas.devcluster.ephemeral import end_with_parent

        end_with_parent()
    cluster = reach(bootstrap, config_file)
    if logins and not cluster.properties.get("security.protocol", "").lower().startswith("sasl_"):
        raise Refused("--logins needs a cluster with logins: give the registry's own with --command-config.")
    clients = {**cluster.properties, "bootstrap.servers": cluster.bootstrap}
    try:
        from barnabas.registry.process import run_registry
        from barnabas.registry.server import RegistrySettings
    except ImportError as missing:
        raise Refused(f"The registry needs more packages ({missing.name}): pip install 'barnabas[registry]'.") from missing
    settings = RegistrySettings(
        host=host,
        port=port,
        advertised_host=advertised_host,
        topic=topic,
        replicas=replication_factor,
        group_id=group,
        leader_eligible=not follower,
        scheme="https" if tls_certificate is not None else "http",
        certificate_file=str(tls_certificate) if tls_certificate is not None else None,
        key_file=str(tls_key) if tls_key is not None else None,
        trusted_file=str(tls_trusted) if tls_trusted is not None else None,
        logins=logins,
        uses_acls=not no_acls,
        super_users=tuple(super_user),
        login_mechanism=login_mechanism,
    )
    problem = run_registry(settings, clients, ready=lambda url: typer.echo(f"ready registry={url}"))
    if problem is not None:
        raise Refused(problem)
