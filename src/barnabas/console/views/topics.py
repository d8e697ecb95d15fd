"""Topics: the list, one topic with its partitions, and the changes of topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.console.access import topic_changes
from barnabas.console.access.catalog import all_topics, topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.log_dirs import log_directories
from barnabas.console.access.offsets import At, bounds, list_offsets
from barnabas.console.core.paging import Page, matching, ordered, page_of
from barnabas.console.core.topic import Bounds, ReplicaSize, Topic, TopicPartition
from barnabas.console.core.topic_sizes import SizedPartition, TopicRow, sized_partitions, topic_rows
from barnabas.console.errors import BadValue, NotFound
from barnabas.console.limits import LISTED_PARTITIONS_MAX, PAGE_SIZE, PAGE_SIZE_MAX
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

# Orders of the list: by what the catalogue of topics knows, and by what brokers must be asked for.
_LISTED: Final[dict[str, Callable[[Topic], Any]]] = {
    "name": lambda each: each.name,
    "partitions": lambda each: len(each.partitions),
    "replicas": lambda each: each.replication_factor,
}
_MEASURED: Final[dict[str, Callable[[TopicRow], Any]]] = {
    "records": lambda each: -1 if each.records_max is None else each.records_max,
    "bytes": lambda each: -1 if each.size_bytes is None else each.size_bytes,
    "state": lambda each: (each.offline, each.under_replicated),
}
_ORDERS: Final = tuple(f"{sign}{each}" for each in (*_LISTED, *_MEASURED) for sign in ("", "-"))


@dataclass(frozen=True, slots=True)
class TopicList:
    search: str
    internal: bool
    sort: str
    page: Page[TopicRow]


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: str
    is_internal: bool
    replication_factor: int
    records_max: int | None
    """Offsets between the ends: compaction and transactions leave fewer records."""
    size_bytes: int | None
    """Of the leaders' replicas; None if the brokers do not show sizes."""
    partitions: list[SizedPartition]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class NewTopic:
    brokers: int


async def list_topics(call: Call) -> TopicList:
    client = call.cluster
    search, internal, sort = call.text("search"), call.flag("internal"), call.text("sort")
    topics = (await all_topics(client)).values()
    found = matching((each for each in topics if internal or not each.is_internal), search, lambda each: each.name)
    column, descending = sort.removeprefix("-"), sort.startswith("-")
    number, size = call.number("page"), call.number("size")
    if column in _MEASURED:
        # Sizes and offsets of all topics are needed to order them, and not only those of a page.
        if sum(len(each.partitions) for each in found) > LISTED_PARTITIONS_MAX:
            raise BadValue(f"Topics with more than {LISTED_PARTITIONS_MAX} partitions cannot be ordered by {column}: search first.", "sort")
        measured = ordered(await _rows(client, found), _MEASURED[column], descending=descending)
        return TopicList(search, internal, sort, page_of(measured, number, size))
    if column in _LISTED:
        found = ordered(found, _LISTED[column], descending=descending)
    page = page_of(found, number, size)
    rows = await _rows(client, page.items)
    return TopicList(search, internal, sort, Page(rows, page.number, page.pages, page.size, page.total))


async def _rows(client: ClusterClient, topics: list[Topic]) -> list[TopicRow]:
    """Sizes and offsets are asked for the topics of one page only."""
    if sum(len(each.partitions) for each in topics) > LISTED_PARTITIONS_MAX:
        return topic_rows(topics, {}, None)
    ends, replicas = await asyncio.gather(bounds(client, topics), _replica_sizes(client, topics))
    return topic_rows(topics, ends, replicas[0])


async def _replica_sizes(client: ClusterClient, topics: list[Topic]) -> tuple[list[ReplicaSize] | None, list[str]]:
    if not topics:
        return [], []
    brokers = [each.id for each in (await client.brokers()).brokers]
    directories, failed = await log_directories(client, brokers, {each.name: [one.id for one in each.partitions] for each in topics})
    if not directories and failed:
        return None, list(failed.values())
    return [each for directory in directories for each in directory.replicas], list(failed.values())


async def show_topic(call: Call) -> TopicView:
    client = call.cluster
    found = await topic(client, call.text("topic"))
    ends, (replicas, missing), local, stable = await asyncio.gather(
        bounds(client, [found]),
        _replica_sizes(client, [found]),
        list_offsets(client, [found], At.EARLIEST_LOCAL),
        list_offsets(client, [found], At.LATEST, isolation=1),
    )
    partitions = sized_partitions(found, ends, replicas or [], local, stable)
    records = [each.records_max for each in partitions if each.records_max is not None]
    return TopicView(
        found.name,
        found.topic_id,
        found.is_internal,
        found.replication_factor,
        sum(records) if len(records) == len(partitions) else None,
        None if replicas is None else sum(each.size_bytes or 0 for each in partitions),
        partitions,
        missing,
    )


async def new_topic(call: Call) -> NewTopic:
    return NewTopic(len((await call.cluster.brokers()).brokers))


async def create_topic(call: Call) -> Changed:
    name = call.text("name")
    await topic_changes.create(
        call.cluster, name, call.optional_number("partitions"), call.optional_number("replication_factor"), _pairs(call.text("configs"))
    )
    return Changed(f"Topic {name} is created.", call.url("topics", name))


async def grow_topic(call: Call) -> Changed:
    name, partitions = call.text("topic"), call.number("partitions")
    await topic_changes.grow(call.cluster, name, partitions)
    return Changed(f"Topic {name} has {partitions} partitions now.", call.url("topics", name))


async def delete_topic(call: Call) -> Changed:
    name = call.text("topic")
    _typed(call, name)
    await topic_changes.delete(call.cluster, name)
    return Changed(f"Topic {name} is deleted.", call.url("topics"))


async def empty_topic(call: Call) -> Changed:
    """Deletes all records before the end of each partition, as it is now."""
    client, name = call.cluster, call.text("topic")
    _typed(call, name)
    found = await topic(client, name)
    wanted = call.optional_number("partition")
    if wanted is not None and wanted not in {each.id for each in found.partitions}:
        raise NotFound(f"Topic {name} has no partition {wanted}.")
    offset = call.optional_number("before_offset")
    if offset is not None and wanted is None:
        raise BadValue("before_offset needs a partition.", "before_offset")
    ends: dict[TopicPartition, Bounds] = await bounds(client, [found])
    before = {
        each.id: offset if offset is not None else ends[TopicPartition(name, each.id)].end
        for each in found.partitions
        if wanted in (None, each.id) and TopicPartition(name, each.id) in ends
    }
    await topic_changes.delete_records(client, found, before)
    return Changed(f"The records of topic {name} are deleted in {len(before)} partitions.", call.url("topics", name))


async def clone_topic(call: Call) -> Changed:
    """A topic of the same size and settings; its records stay where they are."""
    source, name = call.text("topic"), call.text("name")
    await topic_changes.clone(call.cluster, await topic(call.cluster, source), name)
    return Changed(f"Topic {name} has the partitions and settings of {source}.", call.url("topics", name))


def _typed(call: Call, name: str) -> None:
    if call.text("confirm_topic") != name:
        raise BadValue(f"Type the name of the topic, {name}, to confirm.", "confirm_topic")


def _pairs(text: str) -> dict[str, str]:
    """Lines of ``name=value``."""
    pairs = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, equals, value = line.partition("=")
        if not equals:
            raise BadValue(f"A setting is a line name=value, and not {line[:80]!r}.", "configs")
        pairs[name.strip()] = value.strip()
    return pairs


PAGE: Final = Parameter("page", "The page of the list; the first is 1.", int, 1, minimum=1)
SIZE: Final = Parameter("size", "Entries on a page.", int, PAGE_SIZE, minimum=1, maximum=PAGE_SIZE_MAX)
SEARCH: Final = Parameter("search", "Words that a name must have.", default="")
_TYPED: Final = Parameter("confirm_topic", "The name of the topic, typed again.", required=True)
_PARTITIONS_MAX: Final = 100_000

OPERATIONS: Final = (
    view(
        "list_topics",
        "/clusters/{cluster}/topics",
        list_topics,
        summary="Topics by name, a page at a time.",
        page="topics/list.html",
        parameters=(
            SEARCH,
            Parameter("internal", "Whether internal topics are listed.", bool, False),
            Parameter("sort", "The order; a minus reverses it.", default="name", choices=_ORDERS),
            PAGE,
            SIZE,
        ),
    ),
    view("new_topic", "/clusters/{cluster}/topics/new", new_topic, summary="What a new topic can have.", page="topics/new.html"),
    view(
        "show_topic",
        "/clusters/{cluster}/topics/{topic}",
        show_topic,
        summary="A topic and its partitions: leaders, replicas, sizes, offsets.",
        page="topics/show.html",
    ),
    change(
        "create_topic",
        "/clusters/{cluster}/topics",
        create_topic,
        summary="Create a topic.",
        parameters=(
            Parameter("name", "The name of the topic.", required=True, maximum=249),
            Parameter("partitions", "Partitions; the broker's default if empty.", int, minimum=1, maximum=_PARTITIONS_MAX),
            Parameter("replication_factor", "Replicas of each partition; the broker's default if empty.", int, minimum=1, maximum=100),
            Parameter("configs", "Settings, a line name=value each.", default="", maximum=20_000),
        ),
    ),
    change(
        "grow_topic",
        "/clusters/{cluster}/topics/{topic}/grow",
        grow_topic,
        summary="Add partitions to a topic. Keys move to other partitions.",
        parameters=(Parameter("partitions", "The new number of partitions.", int, required=True, minimum=1, maximum=_PARTITIONS_MAX),),
    ),
    change("delete_topic", "/clusters/{cluster}/topics/{topic}/delete", delete_topic, summary="Delete a topic.", parameters=(_TYPED,)),
    change(
        "empty_topic",
        "/clusters/{cluster}/topics/{topic}/empty",
        empty_topic,
        summary="Delete the records of a topic, of one partition, or those before an offset.",
        parameters=(
            _TYPED,
            Parameter("partition", "One partition only.", int, minimum=0),
            Parameter("before_offset", "Records from this offset on are kept.", int, minimum=0),
        ),
    ),
    change(
        "clone_topic",
        "/clusters/{cluster}/topics/{topic}/clone",
        clone_topic,
        summary="Create a topic with the partitions and settings of this one.",
        parameters=(Parameter("name", "The name of the new topic.", required=True, maximum=249),),
    ),
)
