"""Changes of groups: offsets after a dry run, members, and the group itself.

A reset is two steps: :func:`plan_reset_view` shows the table of new offsets, and
:func:`reset_offsets` sets exactly the offsets of that table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.administration.offset_reset import (
    Known,
    LogEnds,
    Partition,
    Plan,
    ResetRefused,
    ShiftBy,
    Target,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToPlanned,
    ToTime,
    plan_reset,
)
from barnabas.console.access import group_changes
from barnabas.console.access.catalog import topic, topics_named
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.group_descriptions import describe_group
from barnabas.console.access.groups import GroupListing, committed_offsets, group_named
from barnabas.console.access.lag_watch import LagWatch
from barnabas.console.access.offsets import bounds, list_offsets
from barnabas.console.core.group import GroupKind
from barnabas.console.core.positions import chosen_partitions
from barnabas.console.core.reset_request import ResetRow, offsets_text, read_offsets, reset_rows
from barnabas.console.core.topic import Topic, TopicPartition
from barnabas.console.errors import BadValue, NotFound
from barnabas.console.limits import BODY_BYTES_MAX
from barnabas.console.views.records import read_time
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

TARGETS: Final = ("earliest", "latest", "time", "offset", "shift", "group", "given")


@dataclass(frozen=True, slots=True)
class GroupReset:
    id: str
    kind: GroupKind
    state: str
    topics: list[str]
    """In which the group has offsets."""
    to: str
    is_planned: bool
    rows: list[ResetRow]
    remarks: list[str]
    """Where an offset is outside of a log, and which offset is taken instead."""
    problem: str
    """Why the offsets cannot be set now, or why there is no plan."""
    offsets: str
    """The new offsets, to be sent back: lines of topic,partition,offset."""


async def plan_reset_view(call: Call) -> GroupReset:
    client, name, to = call.cluster, call.text("group"), call.text("to")
    listing, members = await _listed(client, name)
    committed = await _committed(client, listing)
    topics = sorted({each.topic for each in committed})
    kind = GroupKind(listing.kind) if listing is not None else GroupKind.CLASSIC
    state = listing.state if listing is not None else "does not exist"
    if not to:
        return GroupReset(name, kind, state, topics, "", False, [], [], "", "")
    try:
        target, partitions = await _target(call, client, committed)
        plan, ends = await _planned(client, target, partitions, committed)
    except (BadValue, NotFound) as error:
        if call.as_json:
            raise
        # The page keeps what is typed into its form.
        return GroupReset(name, kind, state, topics, to, True, [], [], error.sentence, "")
    problem = f"Offsets can be set only while a group has no members, and {name} has {members}: stop them first." if members else ""
    if not plan.offsets:
        problem = f"Group {name} has no offsets to reset: choose a topic."
    elif listing is None:
        plan.remarks.append(f"There is no group {name} yet: the offsets create it.")
    return GroupReset(
        name, kind, state, topics, to, True, reset_rows(plan, committed, ends), plan.remarks, problem, offsets_text(plan.offsets)
    )


async def reset_offsets(call: Call) -> Changed:
    client, name = call.cluster, call.text("group")
    listing, _ = await _listed(client, name)
    offsets = read_offsets(call.text("offsets"))
    plan, _ = await _planned(client, ToPlanned(offsets), list(offsets), {})
    if plan.remarks:
        raise BadValue(f"{plan.remarks[0]} The logs have changed: make the plan again.", "offsets")
    await group_changes.set_offsets(client, name, listing.kind if listing is not None else GroupKind.CLASSIC, offsets)
    return Changed(f"Group {name} goes on at new offsets in {len(offsets)} partitions.", call.url("groups", name))


async def delete_offsets(call: Call) -> Changed:
    client, name, wanted = call.cluster, call.text("group"), call.text("topic")
    listing = await group_named(client, name)
    committed = await _committed(client, listing)
    number = call.optional_number("partition")
    if number is not None and listing.kind == GroupKind.SHARE:
        raise BadValue(f"{name} is a share group, and Kafka deletes its offsets by the topic: leave the partition empty.", "partition")
    chosen = [each for each in committed if each.topic == wanted and number in (None, each.number)]
    if not chosen:
        raise NotFound(f"Group {name} has no offsets in {wanted if number is None else Partition(wanted, number)}.")
    await group_changes.delete_offsets(client, name, listing.kind, chosen)
    return Changed(f"The offsets of group {name} in topic {wanted} are deleted.", call.url("groups", name))


async def delete_group(call: Call) -> Changed:
    client, name = call.cluster, call.text("group")
    if call.text("confirm_group") != name:
        raise BadValue(f"Type the name of the group, {name}, to confirm.", "confirm_group")
    await group_changes.delete_group(client, name)
    client.remembered(LagWatch).forget(name)
    return Changed(f"Group {name} is deleted.", call.url("groups"))


async def remove_member(call: Call) -> Changed:
    client, name, member_id = call.cluster, call.text("group"), call.text("member_id")
    group = await describe_group(client, await group_named(client, name))
    member = next((each for each in group.members if each.id == member_id), None)
    if member is None:
        raise NotFound(f"Group {name} has no member {member_id}.")
    await group_changes.remove_member(client, name, group.kind, member)
    return Changed(f"The member {member.client_id} has left group {name}.", call.url("groups", name, "members"))


# -- plans of resets ---------------------------------------------------------------------------


async def _listed(client: ClusterClient, name: str) -> tuple[GroupListing | None, int]:
    """The group and the number of its members. It need not exist: offsets can be set before the
    first member joins."""
    try:
        listing = await group_named(client, name)
    except NotFound:
        return None, 0
    return listing, len((await describe_group(client, listing)).members)


async def _committed(client: ClusterClient, listing: GroupListing | None) -> dict[Partition, int]:
    if listing is None:
        return {}
    found = (await committed_offsets(client, [listing], None)).get(listing.id, {})
    return {Partition(*place): offset for place, offset in found.items()}


async def _target(call: Call, client: ClusterClient, committed: dict[Partition, int]) -> tuple[Target, list[Partition]]:
    partitions = await _partitions(call, client, committed)
    match call.text("to"):
        case "earliest":
            return ToEarliest(), partitions
        case "latest":
            return ToLatest(), partitions
        case "time":
            return ToTime(read_time(call.text("time"))), partitions
        case "offset":
            return ToOffset(_number(call, "offset")), partitions
        case "shift":
            return ShiftBy(_number(call, "shift")), partitions
        case "group":
            other = await _committed(client, await group_named(client, call.text("from_group")))
            named = call.text("topic")
            chosen = {place: offset for place, offset in other.items() if not named or place in partitions}
            return ToPlanned(chosen), await _existing(client, chosen)
    given = read_offsets(call.text("offsets"))
    return ToPlanned(given), list(given)


async def _partitions(call: Call, client: ClusterClient, committed: dict[Partition, int]) -> list[Partition]:
    name = call.text("topic")
    if not name:
        # The field is sent also while the page hides it.
        if call.text("partitions").strip() and call.text("to") != "given":
            raise BadValue("The partitions are those of one topic: choose the topic as well.", "topic")
        return await _existing(client, committed)
    found: Topic = await topic(client, name)
    return [Partition(name, each) for each in chosen_partitions(call.text("partitions"), [one.id for one in found.partitions])]


async def _existing(client: ClusterClient, offsets: dict[Partition, int]) -> list[Partition]:
    """An offset may have outlived its topic; it needs no reset then."""
    topics = await topics_named(client, {each.topic for each in offsets})
    led = {Partition(found.name, each.id) for found in topics for each in found.partitions if each.leader >= 0}
    return sorted(led & offsets.keys())


async def _planned(
    client: ClusterClient, target: Target, partitions: list[Partition], committed: dict[Partition, int]
) -> tuple[Plan, dict[Partition, LogEnds]]:
    topics = await topics_named(client, {each.topic for each in partitions})
    ends = {Partition(*place): LogEnds(*each) for place, each in (await bounds(client, topics)).items()}
    at_time: dict[Partition, int | None] = {}
    if isinstance(target, ToTime):
        asked = {TopicPartition(*each): target.timestamp_ms for each in partitions}
        found = await list_offsets(client, topics, asked)
        at_time = {Partition(*place): each.offset if each.offset >= 0 else None for place, each in found.items()}
        ends = {each: end for each, end in ends.items() if each in at_time}
    try:
        return plan_reset(target, partitions, Known(ends, committed, at_time)), ends
    except ResetRefused as refused:
        raise BadValue(str(refused)) from None


def _number(call: Call, name: str) -> int:
    value = call.optional_number(name)
    if value is None:
        raise BadValue(f"{name} is missing.", name)
    return value


OPERATIONS: Final = (
    view(
        "plan_group_reset",
        "/clusters/{cluster}/groups/{group}/reset",
        plan_reset_view,
        summary="The offsets that a group would get; nothing is changed.",
        page="groups/reset.html",
        parameters=(
            Parameter("to", "Where the group goes on.", default="", choices=("", *TARGETS)),
            Parameter("topic", "One topic; all topics with offsets of the group if empty.", default=""),
            Parameter("partitions", "Partitions of the topic, such as 0,2-4; all if empty.", default=""),
            Parameter("time", "The first record at or after this moment, for to=time.", default=""),
            Parameter("offset", "The offset, for to=offset.", int, minimum=0),
            Parameter("shift", "Records forward, or back if negative, for to=shift.", int),
            Parameter("from_group", "The group whose offsets are taken, for to=group.", default=""),
            Parameter("offsets", "Lines of topic,partition,offset, for to=given.", default="", maximum=100_000),
        ),
    ),
    change(
        "reset_group_offsets",
        "/clusters/{cluster}/groups/{group}/reset",
        reset_offsets,
        summary="Set offsets of a group without members.",
        parameters=(Parameter("offsets", "Lines of topic,partition,offset, as a plan has them.", required=True, maximum=BODY_BYTES_MAX),),
    ),
    change(
        "delete_group_offsets",
        "/clusters/{cluster}/groups/{group}/delete-offsets",
        delete_offsets,
        summary="Delete offsets of a group in a topic, or in one partition of it.",
        parameters=(Parameter("topic", "The topic.", required=True), Parameter("partition", "One partition only.", int, minimum=0)),
    ),
    change(
        "delete_group",
        "/clusters/{cluster}/groups/{group}/delete",
        delete_group,
        summary="Delete a group without members, and its offsets.",
        parameters=(Parameter("confirm_group", "The name of the group, typed again.", required=True),),
    ),
    change(
        "remove_group_member",
        "/clusters/{cluster}/groups/{group}/remove-member",
        remove_member,
        summary="Remove a member from a group; a client that runs joins again.",
        parameters=(Parameter("member_id", "The id of the member.", required=True),),
    ),
)
