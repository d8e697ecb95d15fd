"""Brokers with their load and disks, the controllers' quorum, and the versions of features."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.catalog import all_topics
from barnabas.console.access.cluster_client import Broker, ClusterClient
from barnabas.console.access.features import Feature, features, features_of_brokers
from barnabas.console.access.log_dirs import LogDirectory, log_directories
from barnabas.console.access.quorum import described_quorum, quorum
from barnabas.console.access.registered_brokers import registered_broker, registered_brokers
from barnabas.console.core.broker_load import BrokerLoad, Duties, duties
from barnabas.console.core.health import Disk
from barnabas.console.core.quorum import QuorumState
from barnabas.console.core.releases import METADATA_VERSION, release_of
from barnabas.console.errors import ConsoleError
from barnabas.console.web.call import Call
from barnabas.console.web.operation import view

# Replicas on the page of a broker, the largest first; the API and the topics' pages have the rest.
REPLICAS_SHOWN_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class BrokerList:
    brokers: list[BrokerLoad]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class HeldReplica:
    topic: str
    partition: int
    directory: str
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class BrokerView:
    broker: BrokerLoad
    replicas_by_directory: dict[str, int]
    largest_replicas: list[HeldReplica]
    features: list[Feature]
    missing: list[str]


@dataclass(frozen=True, slots=True)
class FeatureRow:
    name: str
    level: int
    """0 for a feature that is not in use."""
    lowest: int
    highest: int
    release: str | None
    """Of ``metadata.version``: the release of Kafka that brought the level."""
    by_broker: dict[int, str]
    """The levels that each broker supports."""


@dataclass(frozen=True, slots=True)
class FeatureList:
    features: list[FeatureRow]


async def list_brokers(call: Call) -> BrokerList:
    client = call.cluster
    loads, _, missing = await _loads(client, await registered_brokers(client))
    return BrokerList(loads, missing)


async def show_broker(call: Call) -> BrokerView:
    client = call.cluster
    broker = await registered_broker(client, call.text("broker"))
    loads, directories, missing = await _loads(client, [broker])
    supported = await features_of_brokers(client, [] if broker.is_fenced else [broker.id])
    replicas = [
        HeldReplica(each.topic, each.partition, each.directory, each.size_bytes, each.offset_lag, each.is_future)
        for directory in directories
        for each in directory.replicas
    ]
    replicas.sort(key=lambda each: (-each.size_bytes, each.topic, each.partition))
    counts = Counter(each.directory for each in replicas)
    by_directory = {each.path: counts[each.path] for each in directories}
    return BrokerView(loads[0], by_directory, replicas[:REPLICAS_SHOWN_MAX], supported.get(broker.id, []), missing)


async def show_quorum(call: Call) -> QuorumState:
    return await described_quorum(call.cluster, int(time.time() * 1000))


async def list_features(call: Call) -> FeatureList:
    client = call.cluster
    brokers = [each.id for each in (await client.brokers()).brokers]
    found, by_broker = await asyncio.gather(features(client), features_of_brokers(client, brokers))
    ranges = {(broker, each.name): f"{each.lowest} to {each.highest}" for broker, supported in by_broker.items() for each in supported}
    return FeatureList(
        [
            FeatureRow(
                each.name,
                each.level,
                each.lowest,
                each.highest,
                release_of(each.level) if each.name == METADATA_VERSION else None,
                {broker: ranges.get((broker, each.name), "none") for broker in by_broker},
            )
            for each in found
        ]
    )


async def _loads(client: ClusterClient, brokers: list[Broker]) -> tuple[list[BrokerLoad], list[LogDirectory], list[str]]:
    alive = [each.id for each in brokers if not each.is_fenced]
    missing: list[str] = []
    leader = None
    try:
        leader = next((each.id for each in await quorum(client, 0) if each.role == "leader"), None)
    except ConsoleError as error:
        missing.append(error.sentence)
    known, (directories, failed), supported = await asyncio.gather(
        all_topics(client), log_directories(client, alive, None), features_of_brokers(client, alive)
    )
    missing += failed.values()
    found = duties(known.values())
    return [_load(each, found, directories, supported, leader, failed) for each in brokers], directories, missing


def _load(
    broker: Broker,
    found: Duties,
    directories: list[LogDirectory],
    supported: dict[int, list[Feature]],
    leader: int | None,
    failed: dict[int, str],
) -> BrokerLoad:
    own = [each for each in directories if each.broker == broker.id]
    level = next((each.highest for each in supported.get(broker.id, []) if each.name == METADATA_VERSION), None)
    return BrokerLoad(
        broker.id,
        broker.address if broker.host else None,
        broker.rack,
        broker.is_fenced,
        broker.id == leader,
        found.leads[broker.id],
        found.preferred[broker.id],
        found.replicas[broker.id],
        found.out_of_sync[broker.id],
        None if broker.is_fenced or broker.id in failed else sum(one.size_bytes for each in own for one in each.replicas),
        [Disk(each.broker, each.path, each.total_bytes, each.usable_bytes, each.error, each.is_cordoned) for each in own],
        None if level is None else release_of(level) or f"level {level}",
    )


OPERATIONS: Final = (
    view(
        "list_brokers",
        "/clusters/{cluster}/brokers",
        list_brokers,
        summary="Brokers: racks, versions, partitions that they lead and hold, disks.",
        page="brokers/list.html",
    ),
    view(
        "show_broker",
        "/clusters/{cluster}/brokers/{broker}",
        show_broker,
        summary="One broker: its load, its directories, its largest replicas and the features that it supports.",
        page="brokers/show.html",
    ),
    view(
        "show_quorum",
        "/clusters/{cluster}/brokers/quorum",
        show_quorum,
        summary="The controllers' quorum: leader, epoch, voters, observers, lag and last fetch.",
        page="brokers/quorum.html",
    ),
    view(
        "list_features",
        "/clusters/{cluster}/brokers/features",
        list_features,
        summary="Features: the levels in force, and those that brokers support.",
        page="brokers/features.html",
    ),
)
