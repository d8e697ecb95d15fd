"""``barnabas storage``: format and inspect log directories before a node uses them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.node_settings import parse_node_settings, settings_in_file
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.config.environment import read_environment
from barnabas.config.listeners import advertised_controller_listeners
from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import SystemClock
from barnabas.env.disk import disk_sentence
from barnabas.env.entropy import SystemEntropy, random_uuid
from barnabas.env.real_disk import RealDisk
from barnabas.logcare.directories.node_directories import log_directory_paths
from barnabas.model.cannot_start import CannotStart
from barnabas.model.ids import NodeId, Uuid, parse_uuid, uuid_text
from barnabas.node.format import FormatRefused, format_directories
from barnabas.node.initial_voters import WrongVoters, one_voter, parse_initial_voters
from barnabas.quorum.core.voters import Endpoint, VoterSet
from barnabas.security.sasl.add_scram import ScramUserToAdd, parse_add_scram
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties
from barnabas.supervisor.directories import directories_of_further_processes

_CONFIG = typer.Option(None, "--config", "-c", help="A server.properties file.")
_OVERRIDE = typer.Option([], "--override", help="name=value; takes precedence over the file.")
# `barnabas server` reads the environment unless an option says otherwise, because containers are
# configured that way. Here a person usually formats by hand, in a shell whose variables may be
# meant for another node, so the environment counts only on demand.
_ENVIRONMENT = typer.Option(False, "--environment", help="Also use KAFKA_... variables, as `barnabas server` does.")


def register(app: typer.Typer) -> None:
    storage = typer.Typer(help="Format and inspect log directories.", no_args_is_help=True)
    storage.command("format")(format_storage)
    storage.command("info")(info)
    storage.command("random-uuid")(random_id)
    app.add_typer(storage, name="storage")


def format_storage(
    cluster_id: str = typer.Option(..., "--cluster-id", "-t", help="The cluster's id; `barnabas storage random-uuid` makes one."),
    config: Path | None = _CONFIG,
    override: list[str] = _OVERRIDE,
    environment: bool = _ENVIRONMENT,
    ignore_formatted: bool = typer.Option(False, "--ignore-formatted", "-g", help="Skip directories that are formatted already."),
    standalone: bool = typer.Option(False, "--standalone", "-s", help="Make this node the first voter of a dynamic quorum."),
    initial_controllers: str | None = typer.Option(
        None,
        "--initial-controllers",
        "-I",
        help="The first voters: id@host:port:directory, separated by commas; the same on every controller.",
    ),
    no_initial_controllers: bool = typer.Option(
        False, "--no-initial-controllers", "-N", help="For a broker, or a controller that becomes a voter later."
    ),
    add_scram: list[str] = typer.Option(
        [],
        "--add-scram",
        "-S",
        help="A first user: 'SCRAM-SHA-256=[name=alice,password=...]'. Process lists show it; prefer --add-scram-file.",
    ),
    add_scram_file: Path | None = typer.Option(
        None, "--add-scram-file", help="A file with first users, one on each line as --add-scram takes them; - is standard input."
    ),
) -> None:
    """Format the log directories of a node, and name the first voters of a quorum."""
    try:
        parse_uuid(cluster_id)
    except ValueError as error:
        raise Refused(f"--cluster-id: {error}.") from error
    settings = _settings(config, override, environment=environment)
    voters = _initial_voters(
        settings, standalone=standalone, initial_controllers=initial_controllers, no_initial_controllers=no_initial_controllers
    )
    users = _users(add_scram, add_scram_file)
    metadata_dir = settings.text_or_none("metadata.log.dir")
    metadata_path = os.path.abspath(metadata_dir) if metadata_dir else None
    paths = log_directory_paths(settings) + ([metadata_path] if metadata_path else [])
    try:
        done = format_directories(
            RealDisk(),
            list(dict.fromkeys(paths)),
            cluster_id=cluster_id,
            node_id=NodeId(settings.integer("node.id")),
            entropy=SystemEntropy(),
            now_ms=SystemClock().wall_ms(),
            ignore_formatted=ignore_formatted,
            metadata_path=metadata_path,
            initial_voters=voters,
            users=users,
        )
    except (FormatRefused, MetaPropertiesDamaged) as refused:
        raise Refused(str(refused)) from refused
    except OSError as error:
        raise Refused(disk_sentence(f"cannot format {', '.join(paths)}", error)) from error
    for each in done:
        typer.echo(f"{each.path} was formatted already." if each.already else f"Formatted {each.path}.")


def _users(given: list[str], file: Path | None) -> list[ScramUserToAdd]:
    """Sentences name the option or the line, never its text, which contains a password."""
    places = [("--add-scram", text) for text in given]
    if file is not None:
        try:
            text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise Refused(f"--add-scram-file {file} cannot be read: {reason}.") from None
        lines = enumerate(text.splitlines(), 1)
        places += [(f"line {number} of {file}", line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]
    users = []
    for place, each in places:
        try:
            users.append(parse_add_scram(each))
        except ValueError as error:
            raise Refused(f"{place}: {error}.") from None
    return users


def _initial_voters(
    settings: BrokerSettings, *, standalone: bool, initial_controllers: str | None, no_initial_controllers: bool
) -> VoterSet | None:
    """The voters in the first record of the metadata log; None when they are configured, or another
    node has them."""
    if standalone + no_initial_controllers + (initial_controllers is not None) > 1:
        raise Refused("Only one of --standalone, --initial-controllers and --no-initial-controllers can be given.")
    is_controller = "controller" in settings.strings("process.roles")
    if settings.strings("controller.quorum.voters"):
        if standalone or initial_controllers is not None:
            raise Refused(
                "With --standalone or --initial-controllers the voters are in the log: set controller.quorum.bootstrap.servers"
                " instead of controller.quorum.voters."
            )
        return None
    names = settings.strings("controller.listener.names")
    if initial_controllers is not None:
        try:
            return parse_initial_voters(initial_controllers, names[0] if names else "")
        except WrongVoters as error:
            raise Refused(f"--initial-controllers: {error}") from error
    if standalone:
        listeners = advertised_controller_listeners(settings)
        if not is_controller or not listeners:
            raise Refused("--standalone is for a controller.")
        endpoint = Endpoint(listeners[0].name, listeners[0].host or "localhost", listeners[0].port)
        return VoterSet([one_voter(NodeId(settings.integer("node.id")), Uuid(random_uuid(SystemEntropy())), endpoint)])
    if is_controller and not no_initial_controllers:
        raise Refused(
            "controller.quorum.voters is not set on this controller: give --standalone, --initial-controllers or --no-initial-controllers."
        )
    return None


def info(config: Path | None = _CONFIG, override: list[str] = _OVERRIDE, environment: bool = _ENVIRONMENT) -> None:
    """Show the identity of the log directories, also of those of further processes (`barnabas
    server --processes`). Exit code 1 when one of the node itself is not formatted."""
    disk = RealDisk()
    missing = False
    own = log_directory_paths(_settings(config, override, environment=environment))
    for path in [*own, *directories_of_further_processes(disk, own)]:
        try:
            meta = read_meta_properties(disk, path) if disk.exists(path) else None
        except MetaPropertiesDamaged as damaged:
            raise Refused(str(damaged)) from damaged
        except OSError as error:
            raise Refused(disk_sentence(f"cannot read {path}", error)) from error
        if meta is None:
            # The server formats the directories of further processes itself.
            missing = missing or path in own
            typer.echo(f"{path}: not formatted")
        else:
            typer.echo(f"{path}: cluster {meta.cluster_id}, node {meta.node_id}, directory {uuid_text(meta.directory_id)}")
    if missing:
        raise typer.Exit(1)


def random_id() -> None:
    """Print a new random id for a cluster."""
    typer.echo(uuid_text(Uuid(random_uuid(SystemEntropy()))))


def _settings(config: Path | None, override: list[str], *, environment: bool) -> BrokerSettings:
    in_file = settings_in_file(config)
    try:
        overrides = parse_overrides(override)
        from_environment = read_environment(os.environ if environment else {}, {**in_file, **overrides})
        return parse_node_settings(in_file, from_environment, overrides)
    except CannotStart as error:
        raise Refused(str(error)) from error
