"""``barnabas streams-groups``: groups of Kafka Streams applications, their tasks, topology, offsets
and lag.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.groups.deletion import delete_groups
from barnabas.cli.groups.description import GroupKind, GroupState
from barnabas.cli.groups.listing import listed_groups
from barnabas.cli.groups.offset_deletion import delete_named_offsets
from barnabas.cli.groups.offsets import Group, Topics, committed_offsets
from barnabas.cli.groups.progress import offsets_table, progress_of
from barnabas.cli.groups.reset import reset_offsets
from barnabas.cli.groups.tables import print_tables
from barnabas.cli.streams_groups.description import existing_streams_group
from barnabas.cli.streams_groups.tables import (
    member_as_json,
    members_table,
    state_as_json,
    state_table,
    topology_as_json,
    topology_table,
)
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.cli.topics.deletion import delete_topic


def register(app: typer.Typer) -> None:
    groups = typer.Typer(help="List and describe streams groups, reset their offsets, delete them.", no_args_is_help=True)
    groups.command("list")(list_groups)
    groups.command("describe")(describe)
    groups.command("reset-offsets")(_of_idle_streams_groups(reset_offsets))
    groups.command("delete")(delete)
    groups.command("delete-offsets")(delete_offsets)
    app.add_typer(groups, name="streams-groups")


def list_groups(
    state: Annotated[
        list[GroupState], typer.Option("--state", case_sensitive=False, help="Only groups in this state; may be given several times.")
    ] = [],  # noqa: B006
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the streams groups."""
    found = listed_groups(Brokers(reach(bootstrap, config_file)), states=state, kinds=[GroupKind.STREAMS])
    rows = [{"group": each.group_id, "state": each.state, "coordinator": each.coordinator.node_id} for each in found]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Group", "State", "Coordinator"),
        [tuple(row.values()) for row in rows],
        empty="There are no such streams groups." if state else "There are no streams groups.",
    )


def describe(
    group: Group,
    offsets: Annotated[bool, typer.Option("--offsets", help="Its offset and lag in each partition; this is the default.")] = False,
    members: Annotated[bool, typer.Option("--members", help="Its members and their tasks.")] = False,
    topology: Annotated[bool, typer.Option("--topology", help="The topics of its subtopologies.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Its state, coordinator and epochs.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a streams group's offsets and lag, its members and tasks, its topology, or its state."""
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    described = existing_streams_group(brokers, group)
    progress = None
    if offsets or not (members or topology or state):
        idle = [each for each in described.members if not each.active]
        progress = progress_of(described.owners(), idle, cluster.admin(), committed_offsets(brokers, group))
    if as_json:
        shown = state_as_json(described)
        shown |= {"members": [member_as_json(each) for each in described.members]} if members else {}
        shown |= {"topology": topology_as_json(described)} if topology else {}
        shown |= {"offsets": progress} if progress is not None else {}
        print_json(shown)
        return
    tables = []
    if state:
        tables.append(state_table(described))
    if members:
        tables.append(members_table(described))
    if topology:
        tables.append(topology_table(described))
    if progress is not None:
        tables.append(offsets_table(progress))
    print_tables(group, tables)


def delete(
    names: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    internal_topics: Annotated[bool, typer.Option("--internal-topics", help="Delete their repartition and changelog topics, too.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete streams groups without members, and their offsets."""
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    # A group of another kind may have this name, and the request would delete it.
    described = [existing_streams_group(brokers, name) for name in dict.fromkeys(names)]
    delete_groups(brokers, names)
    if internal_topics:
        admin = cluster.admin()
        for topic in dict.fromkeys(topic for group in described for topic in group.internal_topics()):
            delete_topic(admin, topic, if_exists=True)


def delete_offsets(
    group: Group,
    topic: Topics,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete a streams group's offsets in topics that its topology does not read."""
    brokers = Brokers(reach(bootstrap, config_file))
    existing_streams_group(brokers, group)
    delete_named_offsets(brokers, group, topic)


def _of_idle_streams_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command, for a streams group without members. Its options are the same."""

    @wraps(command)
    def checked(*, group: str, bootstrap: str | None, config_file: Any, **options: Any) -> None:
        described = existing_streams_group(Brokers(reach(bootstrap, config_file)), group)
        if described.members:
            raise Refused(f"Offsets can only be reset while a group has no members, but group {group} has {len(described.members)}.")
        command(group=group, bootstrap=bootstrap, config_file=config_file, **options)

    return checked
