"""Requests that move replicas between the directories of one broker."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import error_words, refusal
from barnabas.console.errors import ClusterRefused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)

# Reasons in one sentence; the others are usually the same ones.
_REASONS_MAX = 5


async def move_replicas(client: ClusterClient, broker: int, moves: Iterable[tuple[str, int, str]]) -> int:
    """``moves`` are topics, partitions and directories. The broker has begun them when this returns
    their number. Raises a :class:`~barnabas.console.errors.ConsoleError` if it refuses some."""
    by_path: dict[str, dict[str, list[int]]] = {}
    for topic, partition, path in moves:
        by_path.setdefault(path, {}).setdefault(topic, []).append(partition)
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=name, partitions=each) for name, each in topics.items()])
            for path, topics in by_path.items()
        ]
    )
    response: AlterReplicaLogDirsResponse = await client.ask_broker(broker, request, is_change=True)
    results = [(each.topic_name, one.partition_index, one.error_code) for each in response.results for one in each.partitions]
    refused = [each for each in results if each[2] != ErrorCode.NONE]
    if refused and len(refused) == len(results) and len({each[2] for each in refused}) == 1:
        raise refusal(refused[0][2], None, f"Broker {broker} moves no replica")
    if refused:
        reasons = "; ".join(f"{topic}/{partition}: {error_words(code)}" for topic, partition, code in refused[:_REASONS_MAX])
        raise ClusterRefused(f"Broker {broker} moves {len(results) - len(refused)} replicas, and refuses {len(refused)}: {reasons}.")
    return len(results)
