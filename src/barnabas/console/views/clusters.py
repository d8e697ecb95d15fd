"""All clusters side by side, and one cluster in detail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from barnabas.console.access.catalog import all_topics
from barnabas.console.access.cluster_client import Broker, ClusterClient
from barnabas.console.access.features import Feature, features
from barnabas.console.access.log_dirs import log_directories
from barnabas.console.access.quorum import quorum
from barnabas.console.core.health import Disk, Finding, HealthWord, PartitionCounts, QuorumMember, count_partitions, findings, health_word
from barnabas.console.errors import ConsoleError, LoginNeeded
from barnabas.console.limits import HEALTH_SECONDS_MAX
from barnabas.console.web.call import Call
from barnabas.console.web.operation import view

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """A part that the principal may not see, or that did not answer, is empty and has a sentence in
    ``missing``."""

    name: str
    bootstrap: str
    production: bool
    colour: str | None
    read_only: bool
    health: HealthWord | Literal["login"]
    cluster_id: str | None
    controller: int | None
    brokers: list[Broker]
    counts: PartitionCounts | None
    quorum: list[QuorumMember]
    disks: list[Disk]
    features: list[Feature]
    findings: list[Finding]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class Clusters:
    clusters: list[ClusterHealth]


async def list_clusters(call: Call) -> Clusters:
    names = [each.name for each in call.services.settings.clusters]
    return Clusters(list(await asyncio.gather(*(_health(call, name) for name in names))))


async def show_cluster(call: Call) -> ClusterHealth:
    client = call.cluster
    return await _collected(call, client)


async def _health(call: Call, name: str) -> ClusterHealth:
    try:
        client = call.services.client_of(name, call)
    except LoginNeeded as error:
        return _unknown(call, name, "login", error.sentence)
    try:
        return await asyncio.wait_for(_collected(call, client), HEALTH_SECONDS_MAX)
    except TimeoutError:
        return _unknown(call, name, "down", f"{name} does not answer within {HEALTH_SECONDS_MAX:g} seconds.")
    except ConsoleError as error:
        return _unknown(call, name, "down", error.sentence)


async def _collected(call: Call, client: ClusterClient) -> ClusterHealth:
    settings = client.settings
    known = await client.brokers()
    missing: list[str] = []
    topics, members, level, (directories, failed) = await asyncio.gather(
        _part(all_topics(client), {}, missing),
        _part(quorum(client, int(time.time() * 1000)), [], missing),
        _part(features(client), [], missing),
        _part(log_directories(client, [each.id for each in known.brokers], {}), ([], {}), missing),
    )
    missing += failed.values()
    disks = [Disk(each.broker, each.path, each.total_bytes, each.usable_bytes, each.error, each.is_cordoned) for each in directories]
    counts = count_partitions(each.partitions for each in topics.values())
    leader = next((each.id for each in members if each.role == "leader"), None)
    found = findings(
        counts,
        controller=leader if members else None,
        fenced=[each.id for each in known.brokers if each.is_fenced],
        disks=disks,
        quorum=members,
    )
    return ClusterHealth(
        settings.name,
        settings.bootstrap,
        settings.production,
        settings.colour,
        settings.read_only or call.services.settings.read_only,
        health_word(found),
        known.cluster_id,
        leader if leader is not None else known.controller_id,
        list(known.brokers),
        counts,
        members,
        disks,
        level,
        found,
        missing,
    )


async def _part(awaited: Awaitable[T], default: T, missing: list[str]) -> T:
    try:
        return await awaited
    except ConsoleError as error:
        missing.append(error.sentence)
        return default


def _unknown(call: Call, name: str, health: HealthWord | Literal["login"], sentence: str) -> ClusterHealth:
    settings = call.services.cluster_settings(name)
    return ClusterHealth(
        name,
        settings.bootstrap,
        settings.production,
        settings.colour,
        settings.read_only or call.services.settings.read_only,
        health,
        None,
        None,
        [],
        None,
        [],
        [],
        [],
        [],
        [sentence],
    )


OPERATIONS: Final = (
    view("list_clusters", "/clusters", list_clusters, summary="All clusters with their health.", page="clusters/list.html"),
    view(
        "show_cluster",
        "/clusters/{cluster}",
        show_cluster,
        summary="One cluster: brokers, quorum, disks, versions.",
        page="clusters/show.html",
    ),
)
