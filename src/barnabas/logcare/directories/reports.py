"""Reports the directories of replicas that the controller did not place itself, many at a time, and
retries until the controller has answered.

When a directory fails, the controller takes leadership from the replicas that it knows to be there,
and cannot do so for replicas whose directory it does not know: so no report may be lost. A later
report of a partition replaces an earlier one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from barnabas.controller.port import ControllerPort
from barnabas.metadata.cluster import LOST_DIRECTORY
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
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


class _Report(NamedTuple):
    directory_id: Uuid
    answered: Promise[ErrorCode]


class DirectoryReports:
    def __init__(self, controller: ControllerPort, node_id: int, broker_epoch: Callable[[], int]) -> None:
        self._controller = controller
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._pending: dict[_Replica, _Report] = {}
        # One request at a time, so that a later report cannot arrive before an earlier one.
        self._busy = False
        self._stopped = False

    def placed(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> None:
        self._report(topic_id, partition, directory.directory_id)

    def moving(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> Promise[ErrorCode]:
        """A replica is about to move: the controller's response, which must arrive before the
        exchange (KIP-858). A later report that replaces this one ends the wait with
        OPERATION_NOT_ATTEMPTED."""
        return self._report(topic_id, partition, directory.directory_id)

    def lost(self, topic_id: Uuid, partition: int) -> None:
        """A replica with damaged bytes, which must neither lead nor count as in sync any more."""
        self._report(topic_id, partition, LOST_DIRECTORY)

    def _report(self, topic_id: Uuid, partition: int, directory_id: Uuid) -> Promise[ErrorCode]:
        report = _Report(directory_id, Promise())
        replaced = self._pending.pop((topic_id, partition), None)
        self._pending[topic_id, partition] = report
        if not self._busy:
            self._busy = True
            # A whole topic is placed in one turn of the loop, so one request reports all its
            # replicas.
            asyncio.get_running_loop().call_soon(self._send)
        if replaced is not None:
            replaced.answered.resolve(ErrorCode.OPERATION_NOT_ATTEMPTED)
        return report.answered

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

    def _answered(self, reported: dict[_Replica, _Report], response: AssignReplicasToDirsResponse) -> None:
        """An error of one partition (its topic is deleted, or it left this broker) would only
        repeat, so the report is not sent again."""
        loop = asyncio.get_running_loop()
        if response.error_code != ErrorCode.NONE:
            for replica in [each for each in reported if each in self._pending]:
                reported.pop(replica).answered.resolve(ErrorCode.OPERATION_NOT_ATTEMPTED)
            self._pending = reported | self._pending
            loop.call_later(RETRY_SECONDS, self._send)
            return
        loop.call_soon(self._send)
        codes = {
            (topic.topic_id, each.partition_index): known_error(each.error_code)
            for directory in response.directories
            for topic in directory.topics
            for each in topic.partitions
        }
        for replica, report in reported.items():
            report.answered.resolve(codes.get(replica, ErrorCode.NONE))


def _by_directory(reported: dict[_Replica, _Report]) -> list[DirectoryData]:
    grouped: dict[Uuid, dict[Uuid, list[int]]] = {}
    for (topic_id, partition), report in reported.items():
        grouped.setdefault(report.directory_id, {}).setdefault(topic_id, []).append(partition)
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
