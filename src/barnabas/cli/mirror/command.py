"""``barnabas mirror``: copy topics and group offsets from one cluster to another, exactly once, on
Spark.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.cluster.client import reach
from barnabas.cli.cluster.options import SECURE_CLIENT_FILE
from barnabas.cli.cluster.reach import secure_file
from barnabas.cli.cluster.registry_of_cluster import registry_settings
from barnabas.cli.errors import Refused
from barnabas.cli.mirror.view import watching
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.mirror.schemas import SchemasMode
from barnabas.pipelines.mirror.selection import Policy

if TYPE_CHECKING:
    from barnabas.registry_client import RegistrySettings

DEFAULT_CHECKPOINT = ".barnabas/checkpoints"
# As many tasks as cores. A task may fail three times before the mirror does, so that a leader
# election does not end it.
DEFAULT_MASTER = "local[*,4]"

From = Annotated[str, typer.Option("--from", metavar="HOST:PORT,...", help="The cluster to read from.")]
To = Annotated[str, typer.Option("--to", metavar="HOST:PORT,...", help="The cluster to write to.")]
Topics = Annotated[
    list[str], typer.Option("--topics", metavar="REGEX", help="Topics to copy, separated by commas; may be given several times.")
]
Exclude = Annotated[list[str], typer.Option("--exclude", metavar="REGEX", help="Topics to leave out of these.")]
Renaming = Annotated[Policy, typer.Option("--policy", help="rename: orders becomes ALIAS.orders. identity: orders keeps its name.")]
FromAlias = Annotated[str, typer.Option("--from-alias", metavar="ALIAS", help="The alias of --from in names of topics.")]
ToAlias = Annotated[
    str, typer.Option("--to-alias", metavar="ALIAS", help="The alias of --to in names of topics, so that records do not return to it.")
]
FromConfig = Annotated[
    Path | None, typer.Option("--from-config", "--from-command-config", metavar="FILE", help="Properties for clients of --from.")
]
ToConfig = Annotated[
    Path | None, typer.Option("--to-config", "--to-command-config", metavar="FILE", help="Properties for clients of --to.")
]
FromSecure = Annotated[bool, typer.Option("--from-secure", help=f"The same as --from-config {SECURE_CLIENT_FILE}.")]
ToSecure = Annotated[bool, typer.Option("--to-secure", help=f"The same as --to-config {SECURE_CLIENT_FILE}.")]
Schemas = Annotated[
    SchemasMode, typer.Option("--schemas", help="copy: schemas with their ids. translate: new ids, in the records too. none: leave them.")
]
FromRegistry = Annotated[str | None, typer.Option("--from-registry", metavar="URL", help="The schema registry of --from.")]
ToRegistry = Annotated[str | None, typer.Option("--to-registry", metavar="URL", help="The schema registry of --to.")]
Groups = Annotated[list[str], typer.Option("--groups", metavar="REGEX", help="Consumer groups whose offsets are translated.")]
NoGroups = Annotated[bool, typer.Option("--no-groups", help="Do not translate offsets of groups.")]
Once = Annotated[bool, typer.Option("--once", help="Copy the records available now, then end.")]
Checkpoint = Annotated[str, typer.Option("--checkpoint", metavar="DIR", help="Directory for the checkpoint.")]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master; default: this machine.")]
SyncSeconds = Annotated[float, typer.Option("--sync-seconds", min=0.1, help="How often topics, settings and groups are synchronised.")]
BatchRecords = Annotated[int, typer.Option("--batch-records", min=1, help="The most records in one batch.")]


def register(app: typer.Typer) -> None:
    app.command("mirror")(mirror)


def mirror(
    source: From,
    target: To,
    topics: Topics,
    exclude: Exclude = [],  # noqa: B006
    policy: Renaming = Policy.RENAME,
    from_alias: FromAlias = "source",
    to_alias: ToAlias = "target",
    groups: Groups = [".*"],  # noqa: B006
    no_groups: NoGroups = False,
    once: Once = False,
    checkpoint: Checkpoint = DEFAULT_CHECKPOINT,
    master: Master = None,
    sync_seconds: SyncSeconds = 10.0,
    batch_records: BatchRecords = 500_000,
    schemas: Schemas = SchemasMode.NONE,
    from_registry: FromRegistry = None,
    to_registry: ToRegistry = None,
    from_config: FromConfig = None,
    to_config: ToConfig = None,
    from_secure: FromSecure = False,
    to_secure: ToSecure = False,
) -> None:
    """Copy topics to another cluster, and keep copying: same partitions, keys, values, timestamps
    and headers, each record once.

    Ctrl-C and SIGTERM stop it: exit code 0.
    """
    from barnabas.pipelines.mirror.cluster import MirrorCluster
    from barnabas.pipelines.mirror.mirror import PACKAGES, Mirror, MirrorOptions
    from barnabas.pipelines.mirror.selection import TopicSelection
    from barnabas.pipelines.running.stop_signals import ignore_failures_while_stopping, stop_signals
    from barnabas.pipelines.session import check_spark, close_session, is_submitted, open_session

    try:
        check_spark()
        files = [secure_file(given) if secure else given for given, secure in ((from_config, from_secure), (to_config, to_secure))]
        clusters = [reach(source, files[0]), reach(target, files[1])]
        here, there = (
            MirrorCluster(alias, each.bootstrap, each.properties) for alias, each in zip((from_alias, to_alias), clusters, strict=True)
        )
        options = MirrorOptions(
            here,
            there,
            TopicSelection(topics, policy, from_alias, to_alias, exclude),
            checkpoint,
            groups=[] if no_groups else groups,
            once=once,
            sync_seconds=sync_seconds,
            batch_records_max=batch_records,
            schemas=schemas,
            from_registry=_registry("--from-registry", from_registry, clusters[0].registry, schemas),
            to_registry=_registry("--to-registry", to_registry, clusters[1].registry, schemas),
        )
        stop_asked = threading.Event()
        with stop_signals(stop_asked), ignore_failures_while_stopping(stop_asked), ExitStack() as at_end:
            session = open_session([], master if is_submitted() else master or DEFAULT_MASTER, packages=PACKAGES)
            at_end.callback(close_session, session)
            if stop_asked.is_set():
                return
            with watching(sys.stdout.isatty(), options.name) as show:
                Mirror(session, options, stop_asked).run(show)
    except PipelineError as error:
        raise Refused(str(error)) from error


def _registry(option: str, url: str | None, properties: Mapping[str, str], schemas: SchemasMode) -> RegistrySettings | None:
    """The address of the option, with the login and TLS that the properties of the cluster have
    for its registry."""
    if schemas is SchemasMode.NONE:
        if url is not None:
            raise Refused(f"{option} goes with --schemas copy or --schemas translate.")
        return None
    found = registry_settings(url, properties)
    if found is None:
        raise Refused(f"--schemas {schemas.value} needs {option}, or schema.registry.url among the properties of that cluster.")
    return found
