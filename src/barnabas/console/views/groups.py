"""Groups of every kind: the list, one group with its lag and its history, and its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.console.access.group_descriptions import describe_group, describe_groups
from barnabas.console.access.group_measures import GroupMeasures
from barnabas.console.access.group_progress import progress_of, timed
from barnabas.console.access.groups import GroupListing, all_groups, group_named
from barnabas.console.access.lag_watch import LagWatch
from barnabas.console.access.share_deliveries import DeliveredRange, delivered_ranges
from barnabas.console.core.group import Group, GroupKind, Member, Subtopology
from barnabas.console.core.group_lag import Progress, longest, total_lag
from barnabas.console.core.group_order import COLUMNS, GroupMeasure, ordered_by_number
from barnabas.console.core.lag_history import LagHistory
from barnabas.console.core.paging import Page, matching, ordered, page_of
from barnabas.console.errors import ConsoleError
from barnabas.console.limits import LISTED_PARTITIONS_MAX
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import view
from barnabas.console.web.parameters import Parameter

STATES: Final = ("Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "NotReady", "Dead")
# Orders of the list: by what coordinators list, and by what each group must be asked for.
_LISTED: Final[dict[str, Callable[[GroupListing], Any]]] = {
    "group": lambda each: each.id,
    "kind": lambda each: (each.kind, each.id),
    "state": lambda each: (each.state, each.id),
}
_ORDERS: Final = tuple(f"{sign}{each}" for each in (*_LISTED, *COLUMNS) for sign in ("", "-"))


@dataclass(frozen=True, slots=True)
class GroupRow:
    id: str
    kind: str
    state: str
    members: int | None
    partitions: int
    """Partitions with an offset."""
    lag: int | None
    lag_seconds: float | None
    """The longest that a record has been waiting for the group."""


@dataclass(frozen=True, slots=True)
class GroupList:
    search: str
    kind: str
    state: str
    kinds: dict[str, int]
    """Groups of each kind, on all pages."""
    states: dict[str, int]
    page: Page[GroupRow]
    sort: str
    measured: int | None
    """Groups whose lag, members and partitions are known, for an order by one of them. The others
    come last, until their coordinators have answered."""


@dataclass(frozen=True, slots=True)
class GroupView:
    id: str
    kind: GroupKind
    state: str
    protocol: str
    assignor: str
    coordinator: int
    epoch: int | None
    target_epoch: int | None
    members_total: int
    topics: list[str]
    lag: int | None
    lag_seconds: float | None
    """Of the partitions on this page."""
    search: str
    page: Page[Progress]
    topology: list[Subtopology]
    topology_epoch: int | None
    history: LagHistory


@dataclass(frozen=True, slots=True)
class GroupMembers:
    id: str
    kind: GroupKind
    state: str
    search: str
    page: Page[Member]


@dataclass(frozen=True, slots=True)
class GroupDeliveries:
    id: str
    kind: GroupKind
    state: str
    ranges: Page[DeliveredRange]
    problems: list[str]


async def list_groups(call: Call) -> GroupList:
    """Only the groups of the page are described, unless the order needs numbers of all."""
    client = call.cluster
    search, kind, state = call.text("search"), call.text("kind"), call.text("state")
    found = matching((await all_groups(client)).values(), search, lambda each: each.id)
    kinds, states = Counter(each.kind for each in found), Counter(each.state for each in found)
    chosen = [each for each in found if kind in ("", each.kind) and state in ("", each.state)]
    sort, measured = call.text("sort"), None
    column, descending = sort.removeprefix("-"), sort.startswith("-")
    if column in COLUMNS:
        numbers = await client.remembered(GroupMeasures).of(client, chosen)
        measured = len(numbers)
        chosen = ordered_by_number(chosen, lambda each: each.id, lambda each: _number(numbers.get(each.id), column), descending=descending)
    else:
        chosen = ordered(chosen, _LISTED[column], descending=descending)
    page = page_of(chosen, call.number("page"), call.number("size"))
    described = await describe_groups(client, page.items)
    progress = await progress_of(client, page.items)
    flat = [each for rows in progress.values() for each in rows]
    if len(flat) <= LISTED_PARTITIONS_MAX:
        flat = await timed(client, flat, with_span=False)
    watch, rows, at = client.remembered(LagWatch), [], 0
    watch.watch(client, page.items)
    for each in page.items:
        own = flat[at : at + len(progress[each.id])]
        at += len(own)
        watch.add(each.id, own)
        group = described.get(each.id)
        rows.append(
            GroupRow(
                each.id,
                each.kind,
                group.state if group is not None else each.state,
                len(group.members) if group is not None else None,
                len(own),
                total_lag(own),
                longest(one.lag_seconds for one in own),
            )
        )
    if column in COLUMNS:
        # The rows are newer than the numbers that chose them, and must not look unordered.
        rows = ordered_by_number(rows, lambda each: each.id, lambda each: getattr(each, column), descending=descending)
    return GroupList(
        search,
        kind,
        state,
        dict(sorted(kinds.items())),
        dict(sorted(states.items())),
        Page(rows, page.number, page.pages, page.size, page.total),
        sort,
        measured,
    )


def _number(measured: GroupMeasure | None, column: str) -> int | None:
    return None if measured is None else COLUMNS[column](measured)


async def show_group(call: Call) -> GroupView:
    client, search = call.cluster, call.text("search")
    listing = await group_named(client, call.text("group"))
    group = await describe_group(client, listing)
    rows = (await progress_of(client, [listing], {group.id: group}))[group.id]
    found = matching(rows, search, lambda each: each.topic)
    page = page_of(found, call.number("page"), call.number("size"))
    shown = await timed(client, page.items)
    watch = client.remembered(LagWatch)
    watch.watch(client, [listing])
    if len(shown) == len(rows):
        watch.add(group.id, shown)
    return GroupView(
        group.id,
        group.kind,
        group.state,
        group.protocol,
        group.assignor,
        listing.coordinator,
        group.epoch,
        group.target_epoch,
        len(group.members),
        sorted({each.topic for each in rows}),
        total_lag(rows),
        longest(each.lag_seconds for each in shown),
        search,
        Page(shown, page.number, page.pages, page.size, page.total),
        group.topology,
        group.topology_epoch,
        watch.history(group.id),
    )


async def show_members(call: Call) -> GroupMembers:
    client, search = call.cluster, call.text("search")
    group: Group = await describe_group(client, await group_named(client, call.text("group")))
    found = matching(group.members, search, lambda each: f"{each.id} {each.client_id} {each.host} {each.instance_id or ''}")
    return GroupMembers(group.id, group.kind, group.state, search, page_of(found, call.number("page"), call.number("size")))


async def show_deliveries(call: Call) -> GroupDeliveries:
    client = call.cluster
    listing = await group_named(client, call.text("group"))
    problems: list[str] = []
    ranges: list[DeliveredRange] = []
    try:
        ranges = await delivered_ranges(client, listing)
    except ConsoleError as error:
        problems.append(error.sentence)
    return GroupDeliveries(
        listing.id, GroupKind(listing.kind), listing.state, page_of(ranges, call.number("page"), call.number("size")), problems
    )


OPERATIONS: Final = (
    view(
        "list_groups",
        "/clusters/{cluster}/groups",
        list_groups,
        summary="Groups of every kind, a page at a time, with their lag in records and seconds.",
        page="groups/list.html",
        parameters=(
            SEARCH,
            Parameter("kind", "Only groups of this kind.", default="", choices=("", *GroupKind)),
            Parameter("sort", "The order; a minus reverses it. Groups without the number come last.", default="group", choices=_ORDERS),
            Parameter("state", "Only groups in this state.", default="", choices=("", *STATES)),
            PAGE,
            SIZE,
        ),
    ),
    view(
        "show_group",
        "/clusters/{cluster}/groups/{group}",
        show_group,
        summary="A group: offsets, ends and lag of each partition, its topology, and its lag over time.",
        page="groups/show.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    view(
        "show_group_members",
        "/clusters/{cluster}/groups/{group}/members",
        show_members,
        summary="Members of a group: clients, hosts and assignments.",
        page="groups/members.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    view(
        "show_group_deliveries",
        "/clusters/{cluster}/groups/{group}/deliveries",
        show_deliveries,
        summary="Records of a share group between their first delivery and their end.",
        page="groups/deliveries.html",
        parameters=(PAGE, SIZE),
    ),
)
