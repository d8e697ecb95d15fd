"""``barnabas quorum``: the controllers of the metadata log, their lag, and changes of the voters.

Any broker can be asked, since it forwards to the active controller. When no broker is up,
``--bootstrap`` may name controllers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.quorum.description import cluster_id, describe_quorum, directory_of, replication_rows, status_of
from barnabas.cli.terminal.output import AsJson, duration_text, print_json, print_table
from barnabas.cli.terminal.overrides import parse_overrides
from barnabas.config.addresses import host_and_port
from barnabas.env.clock import SystemClock
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, parse_uuid, uuid_text
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse

_MISSING = "-"
# The new voter must catch up with the log before it may vote.
_ADD_SECONDS_MAX = 30.0
_MS_PER_SECOND = 1000
# Returned by a leader that was just elected, or that has not finished the previous change.
_BUSY = frozenset({ErrorCode.REQUEST_TIMED_OUT})


def register(app: typer.Typer) -> None:
    quorum = typer.Typer(help="Describe the controllers' quorum, and add or remove voters.", no_args_is_help=True)
    quorum.command("describe")(describe)
    quorum.command("add")(add)
    quorum.command("remove")(remove)
    app.add_typer(quorum, name="quorum")


def describe(
    status: Annotated[bool, typer.Option("--status", help="The leader and the voters; this is the default.")] = False,
    replication: Annotated[bool, typer.Option("--replication", help="The offset and lag of each node in the metadata log.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the quorum's state, or how its log is replicated."""
    brokers = Brokers(reach(bootstrap, config_file))
    quorum = describe_quorum(brokers)
    rows = replication_rows(quorum)
    status = status or not replication
    summary = status_of(quorum, rows, cluster_id(brokers)) if status else {}
    if as_json:
        print_json({**summary, **({"replication": rows} if replication else {})})
        return
    if status:
        _print_status(summary)
    if status and replication:
        typer.echo()
    if replication:
        now_ms = SystemClock().wall_ms()
        print_table(
            ("Node", "Directory", "Log end offset", "Lag", "Last fetch", "Last caught up", "Status"),
            [
                (
                    row["node"],
                    row["directory_id"] or _MISSING,
                    row["log_end_offset"],
                    _shown(row["lag"]),
                    _ago(row["last_fetch_ms"], now_ms),
                    _ago(row["last_caught_up_ms"], now_ms),
                    row["status"],
                )
                for row in rows
            ],
        )


def add(
    config: Annotated[Path | None, typer.Option("--config", help="The new voter's server.properties, on the machine it runs on.")] = None,
    override: Annotated[list[str], typer.Option("--override", help="name=value; takes precedence over the file.")] = [],  # noqa: B006
    voter: Annotated[int | None, typer.Option("--voter", metavar="NODE", min=0, help="The new voter's node.id, without --config.")] = None,
    directory_id: Annotated[str | None, typer.Option("--directory-id", metavar="ID", help="The directory id of its metadata log.")] = None,
    listener: Annotated[list[str], typer.Option("--listener", metavar="NAME://HOST:PORT", help="Its controller listener.")] = [],  # noqa: B006
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Add a controller to the voters of the quorum. It must be running already, as an observer."""
    from barnabas.cli.quorum.voter_identity import VoterIdentity, voter_of_properties

    if config is not None:
        if voter is not None or directory_id is not None or listener:
            raise Refused("--config names the voter, so --voter, --directory-id and --listener cannot be given with it.")
        new = voter_of_properties(config, parse_overrides(override))
    elif voter is not None and directory_id is not None and listener:
        new = VoterIdentity(voter, _parse_directory_id(directory_id), tuple(map(_parse_listener, listener)))
    else:
        raise Refused("Name the voter with --config, or with --voter, --directory-id and --listener.")
    if dry_run:
        typer.echo(f"Would add {new}.")
        return
    brokers = Brokers(reach(bootstrap, config_file))
    request = AddRaftVoterRequest(
        cluster_id=cluster_id(brokers),
        timeout_ms=int(_ADD_SECONDS_MAX * _MS_PER_SECOND),
        voter_id=new.node_id,
        voter_directory_id=new.directory_id,
        listeners=[Listener(name=name, host=host, port=port) for name, host, port in new.listeners],
    )
    response: AddRaftVoterResponse = brokers.ask_controller(
        request, codes=lambda response: [response.error_code], not_now=_BUSY, seconds_max=_ADD_SECONDS_MAX
    )
    if response.error_code == ErrorCode.DUPLICATE_VOTER:
        raise Refused(f"Node {new.node_id} is a voter already.")
    refuse_error(response.error_code, response.error_message, f"Cannot add node {new.node_id} to the voters")
    typer.echo(f"Added {new}.")


def remove(
    voter: Annotated[int, typer.Argument(metavar="NODE", min=0, help="The voter's node.id.")],
    directory_id: Annotated[
        str | None,
        typer.Option(
            "--directory-id", metavar="ID", help="The directory id of its metadata log; needed only if several voters have the node.id."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Remove a controller from the voters. It follows the log as an observer until it is
    stopped."""
    brokers = Brokers(reach(bootstrap, config_file))
    directory = _parse_directory_id(directory_id) if directory_id is not None else directory_of(describe_quorum(brokers), voter)
    described = f"voter {voter} with directory {uuid_text(directory)}"
    if dry_run:
        typer.echo(f"Would remove {described}.")
        return
    request = RemoveRaftVoterRequest(cluster_id=cluster_id(brokers), voter_id=voter, voter_directory_id=directory)
    response: RemoveRaftVoterResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code], not_now=_BUSY)
    if response.error_code == ErrorCode.VOTER_NOT_FOUND:
        raise Refused(f"There is no {described}.")
    refuse_error(response.error_code, response.error_message, f"Cannot remove {described}")
    typer.echo(f"Removed {described}.")


def _print_status(status: dict[str, Any]) -> None:
    typer.echo(f"Cluster           {status['cluster_id']}")
    typer.echo(f"Leader            node {status['leader']}, epoch {status['epoch']}")
    typer.echo(f"High watermark    {status['high_watermark']}")
    lag, lag_ms = _shown(status["follower_lag_max"]), status["follower_lag_ms_max"]
    typer.echo(f"Followers' lag    {lag} records, {_MISSING if lag_ms is None else duration_text(lag_ms)} at most")
    for title, nodes in (("Voters", status["voters"]), ("Observers", status["observers"])):
        for index, node in enumerate(nodes):
            words = [str(node["node"]), *([node["directory_id"]] if node["directory_id"] else []), *node["endpoints"]]
            typer.echo(f"{title if index == 0 else '':18}{' '.join(words)}")


def _parse_directory_id(text: str) -> Uuid:
    try:
        return parse_uuid(text)
    except ValueError as error:
        raise Refused(f"--directory-id: {error}.") from error


def _parse_listener(text: str) -> tuple[str, str, int]:
    name, _, address = text.partition("://")
    place = host_and_port(address)
    if not name or place is None or not place[0]:
        raise Refused(f"--listener takes NAME://host:port, but was given {text!r}.")
    return name, *place


def _ago(timestamp_ms: int | None, now_ms: int) -> str:
    """The leader's timestamp compared with our clock, which may differ: negative ages become
    zero."""
    return _MISSING if timestamp_ms is None else f"{duration_text(max(now_ms - timestamp_ms, 0))} ago"


def _shown(number: int | None) -> object:
    return _MISSING if number is None else number
