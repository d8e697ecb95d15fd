"""A streams group in tables and in JSON."""

from __future__ import annotations

from typing import Any

from barnabas.cli.groups.tables import MISSING, Table, partitions_text
from barnabas.cli.streams_groups.description import StreamsGroupDescription, StreamsGroupMember, Tasks


def state_as_json(group: StreamsGroupDescription) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "coordinator": {"id": group.coordinator.node_id, "address": group.coordinator.address},
        "member_count": len(group.members),
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "topology_epoch": group.topology_epoch,
    }


def member_as_json(member: StreamsGroupMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "process_id": member.process_id,
        "host": member.host,
        "client_id": member.client_id,
        "endpoint": member.endpoint,
        "epoch": member.epoch,
        "active": _plain(member.active),
        "standby": _plain(member.standby),
        "target_active": _plain(member.target_active),
        "target_standby": _plain(member.target_standby),
    }


def _plain(tasks: Tasks) -> dict[str, list[int]]:
    return {subtopology: list(numbers) for subtopology, numbers in tasks.items()}


def topology_as_json(group: StreamsGroupDescription) -> list[dict[str, Any]]:
    return [
        {"subtopology": each.subtopology_id, "role": each.role.value, "topic": each.topic, "partitions": each.partitions}
        for each in group.topology
    ]


def state_table(group: StreamsGroupDescription) -> Table:
    coordinator = f"{group.coordinator.address} ({group.coordinator.node_id})"
    row = (group.group_id, coordinator, group.state, len(group.members), group.epoch, group.target_epoch)
    return Table(("Group", "Coordinator", "State", "Members", "Epoch", "Target epoch"), [row], "no state")


def members_table(group: StreamsGroupDescription) -> Table:
    rows: list[tuple[object, ...]] = [
        (
            each.member_id,
            each.process_id,
            each.host,
            each.client_id,
            each.epoch,
            partitions_text(each.active),
            partitions_text(each.standby),
        )
        for each in group.members
    ]
    return Table(("Member", "Process", "Host", "Client", "Epoch", "Active tasks", "Standby tasks"), rows, "no members")


def topology_table(group: StreamsGroupDescription) -> Table:
    rows: list[tuple[object, ...]] = [
        (each.subtopology_id, each.role.value, each.topic, MISSING if each.partitions is None else each.partitions)
        for each in group.topology
    ]
    return Table(("Subtopology", "Role", "Topic", "Partitions"), rows, "no topology")
