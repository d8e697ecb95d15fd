"""All topics that a principal may see, kept for a few seconds."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refusal
from barnabas.console.core.topic import Partition, Topic
from barnabas.console.errors import NotFound
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import uuid_text
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic

# A partition without a leader and a replica without a broker are part of the description, not an
# error of the request.
_NOT_WRONG = frozenset({ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE})
KEPT = "topics"


async def all_topics(client: ClusterClient) -> dict[str, Topic]:
    """By name, in order. Topics that the principal may not describe are not among them."""
    return await client.kept(KEPT, lambda: _ask_for_all(client))


async def topic(client: ClusterClient, name: str) -> Topic:
    """Asked for each time, so that a page shows the leaders of this moment. Raises
    :class:`NotFound`."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    response: MetadataResponse = await client.ask_any(request)
    if not response.topics:
        raise NotFound(f"There is no topic {name}.")
    found = response.topics[0]
    if found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise NotFound(f"There is no topic {name}.")
    if found.error_code not in _NOT_WRONG:
        raise refusal(found.error_code, None, f"Cannot describe topic {name}")
    return _described(found)


async def topics_named(client: ClusterClient, names: Iterable[str]) -> list[Topic]:
    """Those that exist and that the principal may describe, as they are now."""
    wanted = sorted(set(names))
    if not wanted:
        return []
    request = MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in wanted], allow_auto_topic_creation=False)
    response: MetadataResponse = await client.ask_any(request)
    return list(_sorted(response).values())


async def _ask_for_all(client: ClusterClient) -> dict[str, Topic]:
    response: MetadataResponse = await client.ask_any(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    return await client.run(_sorted, response)


def _sorted(response: MetadataResponse) -> dict[str, Topic]:
    found = [each for each in response.topics if each.error_code in _NOT_WRONG and each.name is not None]
    return {each.name or "": _described(each) for each in sorted(found, key=lambda topic: topic.name or "")}


def _described(given: MetadataResponseTopic) -> Topic:
    partitions = [
        Partition(each.partition_index, each.leader_id, each.leader_epoch, each.replica_nodes, each.isr_nodes, each.offline_replicas)
        for each in sorted(given.partitions, key=lambda each: each.partition_index)
    ]
    return Topic(given.name or "", uuid_text(given.topic_id), given.is_internal, partitions)
