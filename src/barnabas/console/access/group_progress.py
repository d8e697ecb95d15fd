"""Offsets of groups beside the ends of their partitions, and the times between them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from barnabas.console.access.catalog import topics_named
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.groups import GroupListing, group_offsets
from barnabas.console.access.offsets import At, bounds, list_offsets
from barnabas.console.access.record_times import times_of
from barnabas.console.core.group import Group, owners
from barnabas.console.core.group_lag import Progress, lag_seconds, progress
from barnabas.console.core.topic import TopicPartition

# Partitions whose times one page or one sample asks for; a Fetch request has a few bytes for each.
TIMED_PARTITIONS_MAX: Final = 1_000


async def progress_of(
    client: ClusterClient, listings: Iterable[GroupListing], groups: Mapping[str, Group] | None = None
) -> dict[str, list[Progress]]:
    """The partitions of each group, without times. ``groups`` add the members of partitions."""
    asked = list(listings)
    offsets = await group_offsets(client, asked)
    members = {each: owners(group.members) for each, group in (groups or {}).items()}
    names = {place.topic for found in (*offsets.values(), *members.values()) for place in found}
    topics = await topics_named(client, names)
    ends = await bounds(client, topics)
    return {each.id: progress(offsets.get(each.id, {}), ends, members.get(each.id, {})) for each in asked}


async def timed(client: ClusterClient, rows: Iterable[Progress], *, with_span: bool = True) -> list[Progress]:
    """The same rows with their lag in seconds. Only the first :data:`TIMED_PARTITIONS_MAX` of
    those that are behind are asked about."""
    given = list(rows)
    behind = [each for each in given if each.lag and each.committed is not None and each.start is not None and each.end is not None]
    # Several groups may stand at different offsets of one partition, and a request asks for one.
    rounds: list[dict[TopicPartition, int]] = []
    for each in behind[:TIMED_PARTITIONS_MAX]:
        assert each.committed is not None
        assert each.start is not None
        place, offset = TopicPartition(each.topic, each.partition), max(each.committed, each.start)
        free = next((one for one in rounds if one.get(place, offset) == offset), None)
        if free is None:
            rounds.append(free := {})
        free[place] = offset
    topics = await topics_named(client, {each.topic for each in behind}) if rounds else []
    first_round = rounds[0] if rounds else {}
    newest, answers = await asyncio.gather(
        list_offsets(client, topics, dict.fromkeys(first_round, int(At.MAX_TIMESTAMP)) if with_span else {}),
        asyncio.gather(*(times_of(client, topics, each) for each in rounds)),
    )
    times = {(place, asked[place]): moment for asked, answer in zip(rounds, answers, strict=True) for place, moment in answer.items()}
    now_ms = int(time.time() * 1000)
    made = []
    for each in given:
        place = TopicPartition(each.topic, each.partition)
        first = times.get((place, max(each.committed or 0, each.start or 0)))
        found = lag_seconds(each.lag, first, newest[place].timestamp if place in newest else None, now_ms=now_ms)
        made.append(each if found is None else replace(each, lag_seconds=found.waiting, span_seconds=found.span))
    return made
