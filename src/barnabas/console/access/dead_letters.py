"""Topics of dead letters, their letters, and the positions that redrives have sent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Final

from barnabas.administration.dead_letter import Position, decode, group_of, positions_topic_of
from barnabas.console.access.catalog import all_topics, topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.configs import ResourceType, describe_configs
from barnabas.console.access.groups import all_groups, committed_offsets
from barnabas.console.access.offsets import bounds
from barnabas.console.access.record_pages import SEARCH_BYTES, ReadPart, page_newest, read_parts
from barnabas.console.core.dead_letters import Letter, letters_of
from barnabas.console.core.record import TransactionState
from barnabas.console.core.topic import Bounds, Topic
from barnabas.console.errors import ConsoleError, NotFound

TOPIC_SETTING: Final = "errors.deadletterqueue.topic.name"
# Names that people give to such topics; a topic with another name has an address too.
_NAMES: Final = re.compile(r"dlq|dlt|dead.?letter", re.IGNORECASE)
# Share groups whose settings are read for the names of their topics.
SHARE_GROUPS_MAX: Final = 100
# Letters that a page sorts by their reasons.
SORTED_LETTERS_MAX: Final = 1_000
# Positions in memory take about 200 bytes each.
POSITIONS_MAX: Final = 500_000


async def dead_letter_topics(client: ClusterClient) -> dict[str, str]:
    """Topics of dead letters, and the reason to take each for one."""
    topics = await all_topics(client)
    found = {each: "by its name" for each in topics if _NAMES.search(each)}
    prefix = positions_topic_of("")
    redriven = [each.removeprefix(prefix) for each in topics if each.startswith(prefix)]
    found |= {each: "was redriven" for each in redriven if each in topics}
    groups = [each.id for each in (await all_groups(client)).values() if each.kind == "share"][:SHARE_GROUPS_MAX]
    for group, name in zip(groups, await asyncio.gather(*(_topic_of_share_group(client, each) for each in groups)), strict=True):
        if name in topics:
            found[name] = f"of share group {group}"
    return {each: found[each] for each in sorted(found) if not each.startswith((prefix, "__"))}


async def _topic_of_share_group(client: ClusterClient, group: str) -> str:
    try:
        settings = await describe_configs(client, ResourceType.GROUP, group)
    except ConsoleError:
        return ""
    return next((each.value or "" for each in settings if each.name == TOPIC_SETTING), "")


async def newest_letters(client: ClusterClient, found: Topic) -> tuple[list[Letter], list[str]]:
    """The newest first."""
    page = await page_newest(client, found, await bounds_of(client, found), SORTED_LETTERS_MAX, decoder=client.decoder)
    return letters_of(page.records), page.problems


async def bounds_of(client: ClusterClient, found: Topic) -> dict[int, Bounds]:
    return {place.partition: each for place, each in (await bounds(client, [found])).items()}


def read_all(client: ClusterClient, found: Topic, starts: Mapping[int, int], ends: Mapping[int, int]) -> AsyncIterator[ReadPart]:
    return read_parts(
        client, found, starts, ends, condition=None, decoder=client.decoder, with_control=False, partition_bytes_max=SEARCH_BYTES
    )


async def redriven_to(client: ClusterClient, dead_letters: str) -> dict[int, int]:
    """The offsets up to which a redrive of all letters came."""
    listing = (await all_groups(client)).get(group_of(dead_letters))
    if listing is None:
        return {}
    offsets = (await committed_offsets(client, [listing], None)).get(listing.id, {})
    return {place.partition: offset for place, offset in offsets.items() if place.topic == dead_letters}


async def sent_positions(client: ClusterClient, dead_letters: str) -> set[Position]:
    """What redrives have sent. Only the newest :data:`POSITIONS_MAX` count."""
    try:
        found = await topic(client, positions_topic_of(dead_letters))
    except NotFound:
        return set()
    ends = await bounds_of(client, found)
    sent: dict[Position, None] = {}
    starts = {each: one.start for each, one in ends.items()}
    async for part in read_all(client, found, starts, {each: one.end for each, one in ends.items()}):
        for record in part.records:
            if record.value is None or record.transaction is not TransactionState.COMMITTED:
                continue
            try:
                sent.update(dict.fromkeys(decode(record.value)))
            except (ValueError, KeyError, TypeError, AttributeError):
                # Another program wrote it.
                continue
        while len(sent) > POSITIONS_MAX:
            del sent[next(iter(sent))]
    return set(sent)
