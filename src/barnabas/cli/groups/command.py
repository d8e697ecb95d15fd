"""``barnabas groups``: consumer groups, their members, their lag, and their offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from barnabas.cli.cluster.broker_requests import Brokers, CoordinatorOf, refuse_error
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.groups.description import GroupDescription, GroupKind, GroupMember, GroupState, Partitions, describe_group
from barnabas.cli.groups.offsets import Group, Partition, Topics, committed_offsets, delete_offsets, log_ends, parse_partitions
from barnabas.cli.groups.reset import reset_offsets
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin

_MISSING = "-"


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
    brokers = Brokers(reach(bootstrap, config_file))
    request = ListGroupsRequest(states_filter=[each.value for each in state], types_filter=[each.value for each in kind])
    rows: list[dict[str, Any]] = []
    for broker in brokers.all():
        response: ListGroupsResponse = brokers.ask(broker, request, codes=lambda response: [response.error_code])
        refuse_error(response.error_code, None, f"Cannot list the groups of broker {broker.node_id}")
        rows += [
            {
                "group": each.group_id,
                "protocol_type": each.protocol_type,
                "kind": _kind_name(each.group_type),
                "state": each.group_state,
                "coordinator": broker.node_id,
            }
            for each in response.groups
        ]
    rows.sort(key=lambda row: row["group"])
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Group", "Protocol type", "Kind", "State"),
        [(row["group"], row["protocol_type"] or _MISSING, row["kind"], row["state"]) for row in rows],
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
    progress = _progress(described, cluster.admin(), committed_offsets(brokers, group)) if offsets else None
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
        tables.append(_offsets_table(progress))
    for index, (columns, rows, none) in enumerate(tables):
        if index:
            typer.echo()
        if rows:
            print_table(columns, rows)
        else:
            typer.echo(f"Group {group} has {none}.")


def delete(
    names: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete groups without members, and their offsets."""
    brokers = Brokers(reach(bootstrap, config_file))
    for name in dict.fromkeys(names):
        response: DeleteGroupsResponse = brokers.ask_coordinator(
            CoordinatorOf.GROUP, name, DeleteGroupsRequest(groups_names=[name]), codes=lambda response: [response.results[0].error_code]
        )
        code = response.results[0].error_code
        if code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise Refused(f"There is no group {name}.")
        if code == ErrorCode.NON_EMPTY_GROUP:
            raise Refused(f"Group {name} has members, so it cannot be deleted.")
        refuse_error(code, None, f"Cannot delete group {name}")
        typer.echo(f"Deleted group {name}.")


def delete_group_offsets(
    group: Group,
    topic: Topics,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete a group's offsets in topics that its members are not subscribed to."""
    named = parse_partitions(topic)
    brokers = Brokers(reach(bootstrap, config_file))
    _existing(brokers, group)
    committed = committed_offsets(brokers, group)
    partitions = []
    for name, numbers in named.items():
        there = {each.number for each in committed if each.topic == name}
        if not there:
            raise Refused(f"Group {group} has no offsets in topic {name}.")
        for number in sorted(numbers - there):
            raise Refused(f"Group {group} has no offset in {Partition(name, number)}.")
        partitions += [Partition(name, number) for number in sorted(numbers or there)]
    delete_offsets(brokers, group, partitions)
    for each in partitions:
        typer.echo(f"Deleted the offset of group {group} in {each}.")


def _existing(brokers: Brokers, group: str) -> GroupDescription:
    described = describe_group(brokers, group)
    if described is None:
        raise Refused(f"There is no consumer group {group}.")
    return described


def _kind_name(given: str) -> str:
    """Brokers that know only one type of group do not name it; a type that is unknown here keeps
    the broker's name for it."""
    return given.capitalize() or GroupKind.CLASSIC.value


def _progress(group: GroupDescription, admin: Admin, committed: Mapping[Partition, int]) -> list[dict[str, Any]]:
    """A row for every partition that is assigned or has an offset, and for every member without
    partitions."""
    owners = {Partition(topic, number): each for each in group.members for topic, numbers in each.assignment.items() for number in numbers}
    partitions = sorted(committed.keys() | owners.keys())
    ends = log_ends(admin, partitions)
    rows: list[dict[str, Any]] = []
    for partition in partitions:
        offset = committed.get(partition)
        end = ends[partition].end if partition in ends else None
        lag = None if offset is None or end is None else end - offset
        rows.append(_progress_row(partition, offset, end, lag, owners.get(partition)))
    return rows + [_progress_row(None, None, None, None, each) for each in group.members if not each.assignment]


def _progress_row(
    partition: Partition | None, offset: int | None, end: int | None, lag: int | None, owner: GroupMember | None
) -> dict[str, Any]:
    return {
        "topic": partition.topic if partition else None,
        "partition": partition.number if partition else None,
        "offset": offset,
        "log_end_offset": end,
        "lag": lag,
        "member_id": owner.member_id if owner else None,
        "host": owner.host if owner else None,
        "client_id": owner.client_id if owner else None,
    }


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


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]
    none: str  # shown in place of a table without rows


def _state_table(group: GroupDescription) -> Table:
    row = (
        group.group_id,
        f"{group.coordinator.address} ({group.coordinator.node_id})",
        group.kind.value,
        group.assignor or _MISSING,
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
            each.instance_id or _MISSING,
            each.host,
            each.client_id,
            sum(map(len, each.assignment.values())),
            _partitions_text(each.assignment),
        )
        for each in group.members
    ]
    if group.kind is GroupKind.CONSUMER:
        columns += ("Epoch", "Target")
        rows = [(*row, each.epoch, _partitions_text(each.target or {})) for row, each in zip(rows, group.members, strict=True)]
    return Table(columns, rows, "no members")


def _partitions_text(partitions: Partitions) -> str:
    return " ".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in partitions.items()) or _MISSING


def _offsets_table(progress: list[dict[str, Any]]) -> Table:
    columns = ("Topic", "Partition", "Offset", "Log end offset", "Lag", "Member", "Host", "Client")
    rows = [tuple(_MISSING if value is None else value for value in row.values()) for row in progress]
    return Table(columns, rows, "no offsets and no members")
