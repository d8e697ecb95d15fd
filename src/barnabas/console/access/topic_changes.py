"""Changes of topics. Each takes effect as a whole or raises a ``ConsoleError``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from barnabas.console.access.catalog import KEPT
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.configs import ConfigSource, ResourceType, describe_configs
from barnabas.console.access.refusals import error_words, refuse_error
from barnabas.console.core.topic import Topic
from barnabas.console.errors import ClusterRefused, ConsoleError
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

# The broker answers by then; the request itself waits longer.
_TIMEOUT_MS: Final = 10_000
_DEFAULT: Final = -1


async def create(
    client: ClusterClient, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str | None]
) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions if partitions is not None else _DEFAULT,
        replication_factor=replication_factor if replication_factor is not None else _DEFAULT,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    response: CreateTopicsResponse = await client.ask_any(CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS), is_change=True)
    client.forget(KEPT)
    refuse_error(response.topics[0].error_code, response.topics[0].error_message, f"Cannot create topic {name}")


async def grow(client: ClusterClient, name: str, partitions: int) -> None:
    topic = CreatePartitionsTopic(name=name, count=partitions, assignments=None)
    response: CreatePartitionsResponse = await client.ask_any(
        CreatePartitionsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=False), is_change=True
    )
    client.forget(KEPT)
    refuse_error(response.results[0].error_code, response.results[0].error_message, f"Cannot add partitions to topic {name}")


async def delete(client: ClusterClient, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=_TIMEOUT_MS)
    response: DeleteTopicsResponse = await client.ask_any(request, is_change=True)
    client.forget(KEPT)
    refuse_error(response.responses[0].error_code, response.responses[0].error_message, f"Cannot delete topic {name}")


async def delete_records(client: ClusterClient, topic: Topic, before: Mapping[int, int]) -> None:
    """Deletes the records below an offset of each partition, at the partitions' leaders."""
    by_leader: dict[int, list[DeleteRecordsPartition]] = {}
    for each in topic.partitions:
        if each.id in before:
            by_leader.setdefault(each.leader, []).append(DeleteRecordsPartition(partition_index=each.id, offset=before[each.id]))
    answers = await asyncio.gather(
        *(
            client.ask_broker(
                leader,
                DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic.name, partitions=partitions)], timeout_ms=_TIMEOUT_MS),
                is_change=True,
            )
            for leader, partitions in by_leader.items()
        ),
        return_exceptions=True,
    )
    failed = []
    for answer in answers:
        if isinstance(answer, ConsoleError):
            failed.append(answer.sentence)
        elif isinstance(answer, BaseException):
            raise answer
        elif isinstance(answer, DeleteRecordsResponse):
            failed += [
                f"partition {each.partition_index}: {error_words(each.error_code)}"
                for answered in answer.topics
                for each in answered.partitions
                if each.error_code != ErrorCode.NONE
            ]
    if failed:
        raise ClusterRefused(f"Cannot delete all records of topic {topic.name}: {'; '.join(failed)}.")


async def clone(client: ClusterClient, source: Topic, name: str) -> None:
    """With the settings that the source itself has; those of the brokers apply to both."""
    described = await describe_configs(client, ResourceType.TOPIC, source.name)
    own = {each.name: each.value for each in described if each.source is ConfigSource.TOPIC and not each.is_sensitive}
    await create(client, name, len(source.partitions), source.replication_factor, own)
