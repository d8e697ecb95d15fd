"""``barnabas share-groups``: share groups, their members, their lag, and their offsets."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.groups.deletion import delete_groups
from barnabas.cli.groups.description import GroupKind
from barnabas.cli.groups.listing import listed_groups
from barnabas.cli.groups.offsets import Group
from barnabas.cli.groups.tables import MISSING, Table, partitions_text, print_tables
from barnabas.cli.share_groups.dead_letters import dead_letters
from barnabas.cli.share_groups.deliveries import DeliveredRange, delivered_ranges
from barnabas.cli.share_groups.description import ShareGroupDescription, ShareGroupMember, ShareGroupState, existing_share_group
from barnabas.cli.share_groups.offsets import ShareOffset, delete_share_offsets, share_offsets
from barnabas.cli.share_groups.reset import reset_offsets
from barnabas.cli.terminal.output import AsJson, print_json, print_table


def register(app: typer.Typer) -> None:
    groups = typer.Typer(help="List and describe share groups, reset their offsets, delete them.", no_args_is_help=True)
    groups.command("list")(list_groups)
    groups.command("describe")(describe)
    groups.command("reset-offsets")(reset_offsets)
    groups.command("delete")(delete)
    groups.command("delete-offsets")(delete_offsets)
    groups.command("dead-letters")(dead_letters)
    app.add_typer(groups, name="share-groups")


def list_groups(
    state: Annotated[
        list[ShareGroupState], typer.Option("--state", case_sensitive=False, help="Only groups in this state; may be given several times.")
    ] = [],  # noqa: B006
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the share groups."""
    found = listed_groups(Brokers(reach(bootstrap, config_file)), states=state, kinds=[GroupKind.SHARE])
    rows = [{"group": each.group_id, "state": each.state, "coordinator": each.coordinator.node_id} for each in found]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Group", "State", "Coordinator"),
        [tuple(row.values()) for row in rows],
        empty="There are no such share groups." if state else "There are no share groups.",
    )


def describe(
    group: Group,
    offsets: Annotated[bool, typer.Option("--offsets", help="Its offset and lag in each partition; this is the default.")] = False,
    deliveries: Annotated[
        bool, typer.Option("--deliveries", help="Records above the start offset that were delivered, and how often.")
    ] = False,
    members: Annotated[bool, typer.Option("--members", help="Its members and their assigned partitions.")] = False,
    state: Annotated[bool, typer.Option("--state", help="Its state, coordinator and assignor.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a share group's offsets and lag, its deliveries, its members, or its state."""
    brokers = Brokers(reach(bootstrap, config_file))
    described = existing_share_group(brokers, group)
    offsets = offsets or not (members or state or deliveries)
    progress = share_offsets(brokers, group) if offsets or deliveries else {}
    delivered = list(delivered_ranges(brokers, group, progress)) if deliveries else []
    if as_json:
        shown = _state_as_json(described)
        shown |= {"members": [_member_as_json(each) for each in described.members]} if members else {}
        shown |= {"offsets": [_offset_as_json(*each) for each in progress.items()]} if offsets else {}
        shown |= {"deliveries": [_delivery_as_json(each) for each in delivered]} if deliveries else {}
        print_json(shown)
        return
    tables = []
    if state:
        tables.append(_state_table(described))
    if members:
        tables.append(_members_table(described))
    if offsets:
        rows = [tuple(MISSING if value is None else value for value in _offset_as_json(*each).values()) for each in progress.items()]
        tables.append(Table(("Topic", "Partition", "Start offset", "Lag"), rows, "no offsets"))
    if deliveries:
        columns = ("Topic", "Partition", "First offset", "Last offset", "State", "Deliveries")
        tables.append(Table(columns, [tuple(_delivery_as_json(each).values()) for each in delivered], "no open deliveries"))
    print_tables(group, tables)


def delete(
    names: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete share groups without members, and their offsets."""
    brokers = Brokers(reach(bootstrap, config_file))
    for name in names:
        # A group of another kind may have this name, and the request would delete it.
        existing_share_group(brokers, name)
    delete_groups(brokers, names)


def delete_offsets(
    group: Group,
    topic: Annotated[list[str], typer.Option("--topic", metavar="TOPIC", help="A topic; may be given several times.")],
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete the offsets of a share group without members in whole topics."""
    topics = list(dict.fromkeys(topic))
    delete_share_offsets(Brokers(reach(bootstrap, config_file)), group, topics)
    for name in topics:
        typer.echo(f"Deleted the offsets of share group {group} in topic {name}.")


def _state_as_json(group: ShareGroupDescription) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": {"id": group.coordinator.node_id, "address": group.coordinator.address},
        "member_count": len(group.members),
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
    }


def _member_as_json(member: ShareGroupMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "host": member.host,
        "client_id": member.client_id,
        "epoch": member.epoch,
        "topics": list(member.topics),
        "assignment": {topic: list(numbers) for topic, numbers in member.assignment.items()},
    }


def _offset_as_json(partition: Partition, offset: ShareOffset) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.number, "start_offset": offset.start, "lag": offset.lag}


def _delivery_as_json(delivered: DeliveredRange) -> dict[str, Any]:
    partition, first_offset, last_offset, state, count = delivered
    return {
        "topic": partition.topic,
        "partition": partition.number,
        "first_offset": first_offset,
        "last_offset": last_offset,
        "state": state,
        "deliveries": count,
    }


def _state_table(group: ShareGroupDescription) -> Table:
    coordinator = f"{group.coordinator.address} ({group.coordinator.node_id})"
    row = (group.group_id, coordinator, group.assignor, group.state, len(group.members), group.epoch, group.target_epoch)
    return Table(("Group", "Coordinator", "Assignor", "State", "Members", "Epoch", "Target epoch"), [row], "no state")


def _members_table(group: ShareGroupDescription) -> Table:
    rows: list[tuple[object, ...]] = [
        (each.member_id, each.host, each.client_id, sum(map(len, each.assignment.values())), partitions_text(each.assignment), each.epoch)
        for each in group.members
    ]
    return Table(("Member", "Host", "Client", "Partitions", "Assignment", "Epoch"), rows, "no members")
