"""Settings of a topic, and its users: groups, producers, pipelines and mirrors."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.catalog import topic, topics_named
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.configs import ConfigValue, ResourceType, alter_configs, describe_configs
from barnabas.console.access.groups import all_groups, committed_offsets
from barnabas.console.access.offsets import bounds
from barnabas.console.access.pipeline_topic import pipeline_reading
from barnabas.console.access.producers import ActiveProducer, active_producers
from barnabas.console.core.mirrored_topic import alias_of, checkpoints_beside
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.core.pipeline_report import PipelineUse
from barnabas.console.core.topic_use import GroupUse, group_uses
from barnabas.console.errors import ClusterRefused
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

# Producers on the page; a topic with more has a program that makes one for each record.
PRODUCERS_SHOWN_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class TopicSettings:
    topic: str
    search: str
    changed_only: bool
    settings: list[ConfigValue]


@dataclass(frozen=True, slots=True)
class TopicUsers:
    topic: str
    groups: Page[GroupUse]
    producers: list[ActiveProducer]
    producers_total: int
    pipelines: list[PipelineUse]
    """Those that report to this cluster."""
    mirrored_from: str | None
    """The cluster, by the name that the mirror gives it; None if names do not tell of a mirror."""


async def show_settings(call: Call) -> TopicSettings:
    name, search, changed_only = call.text("topic"), call.text("search"), call.flag("changed_only")
    values = await describe_configs(call.cluster, ResourceType.TOPIC, name)
    shown = matching(values, search, lambda each: f"{each.name} {each.documentation}")
    return TopicSettings(name, search, changed_only, [each for each in shown if each.is_own or not changed_only])


async def set_setting(call: Call) -> Changed:
    name, setting = call.text("topic"), call.text("name")
    value = None if call.flag("unset") else call.text("value")
    await alter_configs(call.cluster, ResourceType.TOPIC, name, {setting: value})
    done = f"{setting} of topic {name} is unset." if value is None else f"{setting} of topic {name} is {value!r} now."
    return Changed(done, call.url("topics", name, "settings"))


async def show_users(call: Call) -> TopicUsers:
    client = call.cluster
    found = await topic(client, call.text("topic"))
    groups, ends, producers, pipelines, mirrored_from = await asyncio.gather(
        all_groups(client),
        bounds(client, [found]),
        active_producers(client, found),
        _pipelines(client, found.name),
        _mirrored_from(client, found.name),
    )
    offsets = await committed_offsets(client, groups.values(), [found])
    uses = group_uses({each.id: (each.kind, each.state) for each in groups.values()}, offsets, ends)
    page = page_of(uses, call.number("page"), call.number("size"))
    return TopicUsers(found.name, page, producers[:PRODUCERS_SHOWN_MAX], len(producers), pipelines, mirrored_from)


async def _pipelines(client: ClusterClient, name: str) -> list[PipelineUse]:
    try:
        reading = await pipeline_reading(client)
    except ClusterRefused:
        return []  # The person may not read the reports.
    return reading.reports.uses(name, int(time.time() * 1000))


async def _mirrored_from(client: ClusterClient, name: str) -> str | None:
    checkpoints = checkpoints_beside(name)
    return alias_of(name) if checkpoints is not None and await topics_named(client, [checkpoints]) else None


OPERATIONS: Final = (
    view(
        "show_topic_settings",
        "/clusters/{cluster}/topics/{topic}/settings",
        show_settings,
        summary="Settings of a topic: values, their sources and what they do.",
        page="topics/settings.html",
        parameters=(SEARCH, Parameter("changed_only", "Only settings that the topic itself has.", bool, False)),
    ),
    change(
        "set_topic_setting",
        "/clusters/{cluster}/topics/{topic}/settings",
        set_setting,
        summary="Set or unset a setting of a topic.",
        parameters=(
            Parameter("name", "The setting.", required=True),
            Parameter("value", "The new value.", default="", maximum=100_000),
            Parameter("unset", "Take the value of the brokers again.", bool, False),
        ),
    ),
    view(
        "show_topic_users",
        "/clusters/{cluster}/topics/{topic}/users",
        show_users,
        summary="Groups with offsets in a topic, its producers, pipelines that read or write it, and its mirror.",
        page="topics/users.html",
        parameters=(PAGE, SIZE),
    ),
)
