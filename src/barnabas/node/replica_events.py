"""The calls from the publisher of replicas to the other parts of the broker."""

from __future__ import annotations

from barnabas.logcare.directories.moves import DirectoryMoves
from barnabas.logcare.directories.reports import DirectoryReports
from barnabas.logcare.log_care import LogCare
from barnabas.model.ids import Uuid
from barnabas.replication.fetchers import ReplicaFetchers
from barnabas.replication.partition import Partition
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory


class ReplicaEvents:
    """Implements :class:`~barnabas.replication.publisher.ReplicaObserver`."""

    def __init__(self, care: LogCare, reports: DirectoryReports, moves: DirectoryMoves, fetchers: ReplicaFetchers) -> None:
        self._care = care
        self._reports = reports
        self._moves = moves
        self._fetchers = fetchers

    def placed(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> None:
        self._reports.placed(topic_id, partition, directory)

    def log_created(self, log: Log) -> None:
        self._care.housekeeping.watch(log)

    def role_changed(self, partition: Partition) -> None:
        self._fetchers.follow(partition)

    def removed(self, partition: Partition) -> None:
        self._fetchers.forget(partition)
        self._moves.forget(partition)
        self._care.cleaner.forget(partition)

    def damaged(self, partition: Partition) -> None:
        self._reports.lost(partition.topic_id, partition.partition.partition)

    def copy_found(self, partition: Partition, log: Log, directory: LogDirectory) -> None:
        self._moves.resume(partition, log, directory)
