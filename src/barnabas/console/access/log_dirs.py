"""Directories of brokers, and sizes of partitions in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import error_words
from barnabas.console.core.topic import ReplicaSize
from barnabas.console.errors import ConsoleError
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


@dataclass(frozen=True, slots=True)
class LogDirectory:
    broker: int
    path: str
    total_bytes: int
    """-1 from a broker that does not tell."""
    usable_bytes: int
    error: str | None
    replicas: list[ReplicaSize]
    is_cordoned: bool = False
    """Gets no new replicas."""


async def log_directories(
    client: ClusterClient, brokers: Iterable[int], topics: dict[str, list[int]] | None
) -> tuple[list[LogDirectory], dict[int, str]]:
    """The directories with the replicas of ``topics``, and a sentence for each broker that did not
    answer. An empty mapping asks for no replicas; None asks for all."""
    asked = None if topics is None else [DescribableLogDirTopic(topic=name, partitions=each) for name, each in topics.items()]
    answers = await client.ask_each_broker(lambda _: DescribeLogDirsRequest(topics=asked), brokers)
    found: list[LogDirectory] = []
    failed: dict[int, str] = {}
    for broker, answer in answers.items():
        if not isinstance(answer, DescribeLogDirsResponse):
            failed[broker] = answer.sentence if isinstance(answer, ConsoleError) else str(answer)
        elif answer.error_code != ErrorCode.NONE:
            failed[broker] = f"Broker {broker} does not show its directories: {error_words(answer.error_code)}."
        else:
            found += [_directory(broker, each) for each in answer.results]
    return found, failed


def _directory(broker: int, given: DescribeLogDirsResult) -> LogDirectory:
    replicas = [
        ReplicaSize(topic.name, each.partition_index, broker, given.log_dir, each.partition_size, each.offset_lag, each.is_future_key)
        for topic in given.topics
        for each in topic.partitions
    ]
    error = None if given.error_code == ErrorCode.NONE else error_words(given.error_code)
    return LogDirectory(broker, given.log_dir, given.total_bytes, given.usable_bytes, error, replicas, given.is_cordoned)
