"""``barnabas groups``: consumer groups, their members, their lag, and their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.groups.deletion import delete_groups
from barnabas.cli.groups.description import GroupDescription, GroupKind, GroupMember, GroupState, describe_group
from barnabas.cli.groups.listing import listed_groups
from barnabas.cli.groups.offset_deletion import delete_named_offsets
from barnabas.cli.groups.offsets import Group, Topics, committed_offsets
from barnabas.cli.groups.progress import offsets_table, progress_of
from barnabas.cli.groups.reset import reset_offsets
from barnabas.cli.groups.tables import MISSING, Table, partitions_text, print_tables
from barnabas.cli.terminal.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    pass


def register(app: typer.Typer) -> None:
    groups = typer.Typer(help="List and describe consumer groups, reset their offsets, delete them.", no_args_is_help=True)
    groups.command("list")(list_groups)
    groups.command("describe")(describe)
    groups.command("reset-offsets")(reset_offsets)
    groups.command("delete")(delete)
    groups.command("delete-offsets")(delete_group_offsets)
    app.add_typer(groups, name="groups")


def list_groups(
    state: Annotated[
        list[GroupState], typer.Option("--state", case_sensitive=False, help="Only groups in this state; may be given several times.")
    ] = [],  # noqa: B006
    kind: Annotated[
        list[GroupKind], typer.Option("--type", case_sensitive=False, help="Only groups of this kind; may be given several times.")
    ] = [],  # noqa: B006
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the groups."""
    rows = [
        {
            "group": each.group_id,
            "protocol_type": each.protocol_type,
            "kind": each.kind,
            "state": each.state,
            "coordinator": each.coordinator.node_id,
        }
        for each in listed_groups(Brokers(reach(bootstrap, config_file)), states=state, kinds=kind)
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Group", "Protocol type", "Kind", "State"),
        [(row["group"], row["protocol_type"] or MISSING, row["kind"], row["state"]) for row in rows],
        empty="There are no such groups." if state or kind else "There are no groups.",
    )


def describe(
    group: Group,
    offsets: Annotated[bool, typer.Option("--offsets", help="Its offset and lag in each partition; this is the default.")] = False,
    members: Annotated[bool, typer.Option("--members", help="Its members and their assigned partitions.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Its state, coordinator and assignor.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a group's offsets and lag, its members, or its state."""
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    described = _existing(brokers, group)
    offsets = offsets or not (members or state)
    progress = None
    if offsets:
        idle = [each for each in described.members if not each.assignment]
        progress = progress_of(described.owners(), idle, cluster.admin(), committed_offsets(brokers, group))
    if as_json:
        shown = _state_as_json(described)
        shown |= {"members": [_member_as_json(each) for each in described.members]} if members else {}
        shown |= {"offsets": progress} if progress is not None else {}
        print_json(shown)
        return
    tables = []
    if state:
        tables.append(_state_table(described))
    if members:
        tables.append(_members_table(described))
    if progress is not None:
        tables.append(offsets_table(progress))
    print_tables(group, tables)


def delete(
    names: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete groups without members, and their offsets."""
    delete_groups(Brokers(reach(bootstrap, config_file)), names)


def delete_group_offsets(
    group: Group,
    topic: Topics,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete a group's offsets in topics that its members are not subscribed to."""
    brokers = Brokers(reach(bootstrap, config_file))
    _existing(brokers, group)
    delete_named_offsets(brokers, group, topic)


def _existing(brokers: Brokers, group: str) -> GroupDescription:
    described = describe_group(brokers, group)
    if described is None:
        raise Refused(f"There is no consumer group {group}.")
    return described


def _state_as_json(group: GroupDescription) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "kind": group.kind.value,
        "protocol_type": group.protocol_type,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": {"id": group.coordinator.node_id, "address": group.coordinator.address},
        "member_count": len(group.members),
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
    }


def _member_as_json(member: GroupMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "host": member.host,
        "client_id": member.client_id,
        "epoch": member.epoch,
        "assignment": {topic: list(numbers) for topic, numbers in member.assignment.items()},
        "target": None if member.target is None else {topic: list(numbers) for topic, numbers in member.target.items()},
    }


def _state_table(group: GroupDescription) -> Table:
    row = (
        group.group_id,
        f"{group.coordinator.address} ({group.coordinator.node_id})",
        group.kind.value,
        group.assignor or MISSING,
        group.state,
        len(group.members),
    )
    columns = ("Group", "Coordinator", "Kind", "Assignor", "State", "Members")
    if group.epoch is None:
        return Table(columns, [row], "no state")
    return Table((*columns, "Epoch", "Target epoch"), [(*row, group.epoch, group.target_epoch)], "no state")


def _members_table(group: GroupDescription) -> Table:
    columns: tuple[str, ...] = ("Member", "Instance", "Host", "Client", "Partitions", "Assignment")
    rows: list[tuple[object, ...]] = [
        (
            each.member_id,
            each.instance_id or MISSING,
            each.host,
            each.client_id,
            sum(map(len, each.assignment.values())),
            partitions_text(each.assignment),
        )
        for each in group.members
    ]
    if group.kind is GroupKind.CONSUMER:
        columns += ("Epoch", "Target")
        rows = [(*row, each.epoch, partitions_text(each.target or {})) for row, each in zip(rows, group.members, strict=True)]
    return Table(columns, rows, "no members")
