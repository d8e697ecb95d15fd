"""Tells the controller where replicas lie that it did not place itself, many at a time, until it has heard.

A controller that believes a replica to lie in a directory that failed takes the leadership from it, and one that does not know where
it lies cannot: so no report may be lost. What a partition's later report says replaces what an earlier one said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.api.broker import ControllerPort
from barnabas.metadata.cluster import LOST_DIRECTORY
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.storage.log_directory import LogDirectory
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)

# As many as Kafka's brokers put into one request.
REPORTS_PER_REQUEST_MAX = 2250
RETRY_SECONDS = 0.5

_Replica = tuple[Uuid, int]


class DirectoryReports:
    def __init__(self, controller: ControllerPort, node_id: int, broker_epoch: Callable[[], int]) -> None:
        self._controller = controller
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._pending: dict[_Replica, Uuid] = {}
        # One request at a time, so that a later report cannot arrive before an earlier one.
        self._busy = False
        self._stopped = False

    def placed(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> None:
        self._report(topic_id, partition, directory.directory_id)

    def lost(self, topic_id: Uuid, partition: int) -> None:
        """A replica that nobody may lead or count with any more: its bytes are damaged."""
        self._report(topic_id, partition, LOST_DIRECTORY)

    def _report(self, topic_id: Uuid, partition: int, directory_id: Uuid) -> None:
        self._pending[topic_id, partition] = directory_id
        if not self._busy:
            self._busy = True
            # A whole topic is placed in one turn of the loop; the controller hears of it in one request.
            asyncio.get_running_loop().call_soon(self._send)

    def stop(self) -> None:
        self._stopped = True

    def _send(self) -> None:
        if not self._pending or self._stopped:
            self._busy = False
            return
        reported = {replica: self._pending.pop(replica) for replica in list(self._pending)[:REPORTS_PER_REQUEST_MAX]}
        request = AssignReplicasToDirsRequest(
            broker_id=self._node_id, broker_epoch=self._broker_epoch(), directories=_by_directory(reported)
        )
        self._controller.submit(request).then(lambda response: self._answered(reported, response))

    def _answered(self, reported: dict[_Replica, Uuid], response: AssignReplicasToDirsResponse) -> None:
        """What is wrong with one partition (its topic is gone, it is not this broker's any more) is not mended by saying it again."""
        loop = asyncio.get_running_loop()
        if response.error_code == ErrorCode.NONE:
            loop.call_soon(self._send)
        else:
            self._pending = reported | self._pending
            loop.call_later(RETRY_SECONDS, self._send)


def _by_directory(reported: dict[_Replica, Uuid]) -> list[DirectoryData]:
    grouped: dict[Uuid, dict[Uuid, list[int]]] = {}
    for (topic_id, partition), directory_id in reported.items():
        grouped.setdefault(directory_id, {}).setdefault(topic_id, []).append(partition)
    return [
        DirectoryData(
            id=directory_id,
            topics=[
                TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=index) for index in indexes])
                for topic_id, indexes in topics.items()
            ],
        )
        for directory_id, topics in grouped.items()
    ]
