"""Tells the controller where replicas lie that it did not place itself, many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.api.broker import ControllerPort
from barnabas.model.ids import Uuid
from barnabas.storage.log_directory import LogDirectory
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, DirectoryData, PartitionData, TopicData


class DirectoryReports:
    def __init__(self, controller: ControllerPort, node_id: int, broker_epoch: Callable[[], int]) -> None:
        self._controller = controller
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._pending: dict[Uuid, dict[Uuid, list[int]]] = {}
        self._scheduled = False

    def placed(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> None:
        self._pending.setdefault(directory.directory_id, {}).setdefault(topic_id, []).append(partition)
        if not self._scheduled:
            self._scheduled = True
            # A whole topic is placed in one turn of the loop; the controller hears of it in one request.
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._scheduled = False
        pending, self._pending = self._pending, {}
        self._controller.submit(
            AssignReplicasToDirsRequest(
                broker_id=self._node_id,
                broker_epoch=self._broker_epoch(),
                directories=[
                    DirectoryData(
                        id=directory_id,
                        topics=[
                            TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=index) for index in indexes])
                            for topic_id, indexes in topics.items()
                        ],
                    )
                    for directory_id, topics in pending.items()
                ],
            )
        )
