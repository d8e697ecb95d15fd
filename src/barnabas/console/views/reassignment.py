"""Reassignment: a plan that is shown before it runs, its progress, and the way back; elections of
preferred leaders."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.catalog import KEPT, all_topics
from barnabas.console.access.cluster_client import Broker, ClusterClient
from barnabas.console.access.log_dirs import log_directories
from barnabas.console.access.reassignments import (
    Ongoing,
    alter_reassignments,
    clear_throttles,
    elect_preferred,
    ongoing_reassignments,
    set_throttles,
    throttle_rates,
)
from barnabas.console.access.registered_brokers import registered_brokers
from barnabas.console.access.throttle_watch import clear_throttles_when_done
from barnabas.console.core.leader_moves import BrokerLeads, LeaderMove, broker_leads, leader_moves
from barnabas.console.core.paging import Page, page_of
from barnabas.console.core.reassignment import BrokerChange, OngoingMove, Plan, PlannedMove, assignment_of, ongoing_move, plan
from barnabas.console.core.topic import ReplicaSize, Topic
from barnabas.console.errors import BadValue, ClusterRefused, NotFound
from barnabas.console.views.topics import PAGE, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter
from barnabas.console.web.words import plural
from barnabas.reassignment.assignment import PartitionName
from barnabas.reassignment.proposal import CannotAssign, drain, propose
from barnabas.reassignment.throttles import Move

# Reasons of refused partitions in a sentence; the others have the same ones.
_REASONS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Reassignments:
    moves: list[OngoingMove]
    brokers: list[Broker]
    throttles: dict[int, int]
    """Bytes a second, by broker."""
    topics: list[str]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class ReassignmentPlan:
    """Nothing is moved yet. ``page`` has the moves; ``digest`` starts exactly this plan."""

    topics: list[str]
    brokers: list[int]
    drain: int | None
    digest: str
    partitions: int
    copied_bytes: int | None
    changes: list[BrokerChange]
    page: Page[PlannedMove]
    ongoing: int
    """Partitions that are being moved already."""


@dataclass(frozen=True, slots=True)
class PreferredLeaders:
    leads: list[BrokerLeads]
    page: Page[LeaderMove]
    possible: int


async def show_reassignments(call: Call) -> Reassignments:
    client = call.cluster
    ongoing, brokers, throttles, topics = await asyncio.gather(
        ongoing_reassignments(client), registered_brokers(client), throttle_rates(client), all_topics(client)
    )
    sizes: dict[PartitionName, list[ReplicaSize]] = {}
    missing: list[str] = []
    if ongoing:
        wanted: dict[str, list[int]] = {}
        for each in ongoing:
            wanted.setdefault(each.topic, []).append(each.number)
        sizes, missing = await _replica_sizes(client, [each.id for each in brokers if not each.is_fenced], wanted)
    leaders = {PartitionName(topic.name, each.id): each.leader for topic in topics.values() for each in topic.partitions}
    moves = [
        ongoing_move(name, each.replicas, each.adding, each.removing, leaders.get(name, -1), sizes.get(name, []))
        for name, each in ongoing.items()
    ]
    return Reassignments(moves, brokers, throttles, list(topics), missing)


async def show_plan(call: Call) -> ReassignmentPlan:
    ongoing = await ongoing_reassignments(call.cluster)
    made, topics, brokers, leaving = await _planned(call, ongoing)
    return ReassignmentPlan(
        topics,
        brokers,
        leaving,
        made.digest,
        made.partitions,
        made.copied_bytes,
        made.brokers,
        page_of(made.moves, call.number("page"), call.number("size")),
        len(ongoing),
    )


async def start(call: Call) -> Changed:
    client = call.cluster
    ongoing = await ongoing_reassignments(client)
    made, _, _, _ = await _planned(call, ongoing)
    if made.digest != call.text("digest"):
        raise BadValue("The cluster has changed since the plan was shown: look at the new plan, and start that one.", "digest")
    if not made.moves:
        raise BadValue("The plan moves nothing.")
    if ongoing and not call.flag("additional"):
        raise BadValue(f"{plural(len(ongoing), 'partition')} are being moved already; additional=true starts more anyway.", "additional")
    throttle = call.optional_number("throttle")
    if throttle is not None:
        moves = {name: each.move for name, each in ongoing.items()}
        moves |= {PartitionName(each.topic, each.partition): Move(frozenset(each.before), frozenset(each.adding)) for each in made.moves}
        await set_throttles(client, moves, throttle)
    refused = await alter_reassignments(client, {PartitionName(each.topic, each.partition): each.after for each in made.moves})
    done = f"{plural(len(made.moves), 'partition')} began to move."
    if throttle is not None:
        is_watched = call.services.run_beside(clear_throttles_when_done(client, {each.topic for each in made.moves}))
        ends = "until the moves are done" if is_watched else "until you remove the throttle"
        done = f"{done[:-1]}, with at most {throttle} bytes a second for each broker {ends}."
    _refuse_some(refused, "Cannot move")
    return Changed(done, call.url("reassignment"))


async def cancel(call: Call) -> Changed:
    client, topic, number = call.cluster, call.text("topic"), call.optional_number("partition")
    if number is not None and not topic:
        raise BadValue("partition needs a topic.", "topic")
    moving = [each for each in await ongoing_reassignments(client) if topic in ("", each.topic) and number in (None, each.number)]
    if not moving:
        raise NotFound("None of these partitions is being moved.")
    _refuse_some(await alter_reassignments(client, dict.fromkeys(moving)), "Cannot cancel the move of")
    return Changed(
        f"{plural(len(moving), 'partition')} {'keeps' if len(moving) == 1 else 'keep'} the old replicas.", call.url("reassignment")
    )


async def remove_throttles(call: Call) -> Changed:
    """Also of topics that are not being moved: a forgotten throttle is one of those."""
    await clear_throttles(call.cluster, await all_topics(call.cluster))
    return Changed("Replication is not throttled any more.", call.url("reassignment"))


async def show_leaders(call: Call) -> PreferredLeaders:
    topics = list((await all_topics(call.cluster)).values())
    moves = leader_moves(topics)
    shown = page_of(moves, call.number("page"), call.number("size"))
    return PreferredLeaders(broker_leads(topics, moves), shown, sum(each.is_possible for each in moves))


async def elect_leaders(call: Call) -> Changed:
    client, topic, number = call.cluster, call.text("topic"), call.optional_number("partition")
    client.forget()
    moves = leader_moves((await all_topics(client)).values())
    wanted = [
        PartitionName(each.topic, each.partition)
        for each in moves
        if each.is_possible and topic in ("", each.topic) and number in (None, each.partition)
    ]
    if not wanted:
        raise NotFound("No partition can be led by its preferred leader that is not led by it already.")
    done, failed = await elect_preferred(client, wanted)
    _refuse_some(failed, "Cannot elect the preferred leader of")
    return Changed(
        f"{plural(done, 'partition')} {'is' if done == 1 else 'are'} led by the preferred leader now.", call.url("reassignment", "leaders")
    )


async def _planned(call: Call, ongoing: dict[PartitionName, Ongoing]) -> tuple[Plan, list[str], list[int], int | None]:
    client = call.cluster
    names, leaving = call.texts("topics"), call.optional_number("drain")
    chosen = [_number(each) for each in call.texts("brokers")]
    registered = {each.id: each for each in await registered_brokers(client)}
    for each in [*chosen, *([leaving] if leaving is not None else [])]:
        if each not in registered:
            raise BadValue(f"There is no broker {each}; the cluster has {', '.join(map(str, registered))}.", "brokers")
    # A plan is about this moment, and not about a list that is a few seconds old.
    client.forget(KEPT)
    known = await all_topics(client)
    for name in names:
        if name not in known:
            raise NotFound(f"There is no topic {name}.")
    targets = chosen or [each.id for each in registered.values() if not each.is_fenced and each.id != leaving]
    racks = {each: registered[each].rack for each in targets}
    if None in racks.values():
        # Racks say nothing when only some brokers have one.
        racks = dict.fromkeys(targets)
    going = {name: each.removing for name, each in ongoing.items()}
    try:
        if leaving is not None:
            current = assignment_of(known.values(), going)
            proposed = drain(current, leaving, {each: rack for each, rack in racks.items() if each != leaving})
        elif names:
            current = assignment_of((known[name] for name in names), going)
            proposed = propose(current, racks)
        else:
            raise BadValue("Choose topics, or a broker to drain.", "topics")
    except CannotAssign as error:
        raise BadValue(str(error)) from error
    changed = [name for name, after in proposed.items() if after != current[name]]
    sizes = await _leader_sizes(client, [known[each] for each in {name.topic for name in changed}])
    return plan(current, proposed, sizes), names, chosen, leaving


async def _leader_sizes(client: ClusterClient, topics: list[Topic]) -> dict[PartitionName, int]:
    leaders = {PartitionName(topic.name, each.id): each.leader for topic in topics for each in topic.partitions}
    if not leaders:
        return {}
    wanted = {topic.name: [each.id for each in topic.partitions] for topic in topics}
    found, _ = await _replica_sizes(client, [each.id for each in (await client.brokers()).brokers], wanted)
    return {
        name: each.size_bytes
        for name, replicas in found.items()
        for each in replicas
        if each.broker == leaders[name] and not each.is_future
    }


async def _replica_sizes(
    client: ClusterClient, brokers: list[int], topics: dict[str, list[int]]
) -> tuple[dict[PartitionName, list[ReplicaSize]], list[str]]:
    directories, failed = await log_directories(client, brokers, topics)
    sizes: dict[PartitionName, list[ReplicaSize]] = {}
    for directory in directories:
        for each in directory.replicas:
            sizes.setdefault(PartitionName(each.topic, each.partition), []).append(each)
    return sizes, list(failed.values())


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 10:
        raise BadValue(f"A broker has a number, and not {text[:40]!r}.", "brokers")
    return int(text)


def _refuse_some(refused: dict[PartitionName, str], doing: str) -> None:
    if refused:
        some = [f"{name}: {reason}" for name, reason in list(refused.items())[:_REASONS_MAX]]
        more = f"; and {len(refused) - _REASONS_MAX} more" if len(refused) > _REASONS_MAX else ""
        raise ClusterRefused(f"{doing} {'; '.join(some)}{more}.")


_WHAT: Final = (
    Parameter("topics", "Topics to spread over the brokers.", list),
    Parameter("brokers", "The brokers that get them; all active ones if empty.", list),
    Parameter("drain", "A broker that loses all of its replicas.", int, minimum=0),
)
_WHERE: Final = (
    Parameter("topic", "One topic only.", default=""),
    Parameter("partition", "One partition of the topic only.", int, minimum=0),
)

OPERATIONS: Final = (
    view(
        "show_reassignments",
        "/clusters/{cluster}/reassignment",
        show_reassignments,
        summary="Partitions that are being moved, how far they are, and throttles.",
        page="reassignment/show.html",
    ),
    view(
        "show_reassignment_plan",
        "/clusters/{cluster}/reassignment/plan",
        show_plan,
        summary="A plan that spreads topics over brokers or drains a broker: moves and bytes. Nothing moves yet.",
        page="reassignment/plan.html",
        parameters=(*_WHAT, PAGE, SIZE),
    ),
    change(
        "start_reassignment",
        "/clusters/{cluster}/reassignment",
        start,
        summary="Start a plan that was shown.",
        parameters=(
            *_WHAT,
            Parameter("digest", "The digest of the plan.", required=True),
            Parameter("throttle", "Bytes a second that a broker may send, and may receive, for the moves.", int, minimum=1),
            Parameter("additional", "Start even if other partitions are being moved; also changes their throttle.", bool, False),
        ),
    ),
    change(
        "cancel_reassignment",
        "/clusters/{cluster}/reassignment/cancel",
        cancel,
        summary="Cancel moves: partitions keep the replicas that they had.",
        parameters=_WHERE,
    ),
    change(
        "remove_throttles",
        "/clusters/{cluster}/reassignment/throttles/remove",
        remove_throttles,
        summary="Remove the throttles of replication.",
    ),
    view(
        "show_preferred_leaders",
        "/clusters/{cluster}/reassignment/leaders",
        show_leaders,
        summary="Partitions that are not led by their preferred leaders, and what an election would move.",
        page="reassignment/leaders.html",
        parameters=(PAGE, SIZE),
    ),
    change(
        "elect_preferred_leaders",
        "/clusters/{cluster}/reassignment/leaders",
        elect_leaders,
        summary="Elect preferred leaders.",
        parameters=_WHERE,
    ),
)
