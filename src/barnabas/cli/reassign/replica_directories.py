"""The directories of replicas, current and requested: each broker is asked about its own replicas.

A replica that is on its way to a broker does not exist there yet, and the broker returns an error
until it does. So a move to a directory is requested again for a while, as Kafka's tool does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.cli.cluster.admin_request import error_words
from barnabas.cli.cluster.broker_requests import Broker, Brokers
from barnabas.cli.reassign.plan import ReplicaName
from barnabas.model.errors import ErrorCode
from barnabas.reassignment.assignment import PartitionName
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

_RETRY_SECONDS = 0.2


class Place(NamedTuple):
    """Directories of a broker; None when the replica has no current or no future one."""

    current: str | None = None
    future: str | None = None


def place_replicas(
    brokers: Brokers, present: Iterable[Broker], wanted: Mapping[ReplicaName, str], *, seconds_max: float
) -> dict[ReplicaName, str]:
    """Request that replicas be moved to directories. Returns those that were refused, with the
    reason."""
    deadline = time.monotonic() + seconds_max
    asked = {each.node_id: each for each in present}
    refused = {replica: f"broker {replica.broker} is down" for replica in wanted if replica.broker not in asked}
    left = {replica: directory for replica, directory in wanted.items() if replica.broker in asked}
    while left:
        for broker in sorted({replica.broker for replica in left}):
            codes = _ask(brokers, asked[broker], {each: path for each, path in left.items() if each.broker == broker})
            for replica, code in codes.items():
                if code == ErrorCode.REPLICA_NOT_AVAILABLE and time.monotonic() < deadline:
                    continue
                del left[replica]
                if code != ErrorCode.NONE:
                    refused[replica] = error_words(code).rstrip(".!")
        if left:
            time.sleep(_RETRY_SECONDS)
    return refused


def _ask(brokers: Brokers, broker: Broker, wanted: Mapping[ReplicaName, str]) -> dict[ReplicaName, int]:
    by_directory: dict[str, dict[str, list[int]]] = {}
    for replica, directory in wanted.items():
        by_directory.setdefault(directory, {}).setdefault(replica.partition.topic, []).append(replica.partition.number)
    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirTopic(name=name, partitions=numbers) for name, numbers in topics.items()]
            )
            for path, topics in by_directory.items()
        ]
    )
    response: AlterReplicaLogDirsResponse = brokers.ask(broker, request)
    codes = {
        ReplicaName(PartitionName(topic.topic_name, each.partition_index), broker.node_id): each.error_code
        for topic in response.results
        for each in topic.partitions
    }
    return {replica: codes.get(replica, ErrorCode.UNKNOWN_SERVER_ERROR) for replica in wanted}


def places_of(brokers: Brokers, present: Iterable[Broker], replicas: Iterable[ReplicaName]) -> dict[ReplicaName, Place]:
    """The places of replicas on brokers that are up."""
    wanted = list(replicas)
    found: dict[ReplicaName, Place] = {}
    for broker in present:
        topics: dict[str, list[int]] = {}
        for replica in wanted:
            if replica.broker == broker.node_id:
                topics.setdefault(replica.partition.topic, []).append(replica.partition.number)
        if not topics:
            continue
        request = DescribeLogDirsRequest(
            topics=[DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in topics.items()]
        )
        response: DescribeLogDirsResponse = brokers.ask(broker, request)
        for directory in response.results:
            for topic in directory.topics:
                for each in topic.partitions:
                    name = ReplicaName(PartitionName(topic.name, each.partition_index), broker.node_id)
                    place = found.get(name, Place())
                    found[name] = (
                        place._replace(future=directory.log_dir) if each.is_future_key else place._replace(current=directory.log_dir)
                    )
    return found
