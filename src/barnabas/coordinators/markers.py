"""Ends a transaction in one partition: appends the marker to its log, and reports it to the group
coordinator if the partition holds offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.env.clock import Clock
from barnabas.metadata.applier import MetadataView
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.records.control_batch import ControlType
from barnabas.records.validation import Refused
from barnabas.replication.local_replicas import LocalReplicas

if TYPE_CHECKING:
    from barnabas.coordinators.group.machine import GroupMachine

# From this transaction version on, every transaction raises the producer epoch (KIP-890).
_EPOCH_RISES_VERSION_MIN = 2


class Marker(NamedTuple):
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int


class LocalMarkers:
    """Writes markers into the partitions that this broker leads."""

    def __init__(self, replicas: LocalReplicas, metadata: MetadataView, groups: Coordinator[GroupMachine], clock: Clock) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._groups = groups
        self._clock = clock

    def write(self, topic: str, index: int, marker: Marker) -> Promise[ErrorCode]:
        """NONE once all in-sync replicas have the marker."""
        partition = self._replicas.get(topic, index)
        if partition is None:
            known = self._metadata.image.topics.partition(TopicPartition(topic, index)) is not None
            return Promise.kept(ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            outcome = partition.end_transaction(
                ControlType.COMMIT if marker.committed else ControlType.ABORT,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                coordinator_epoch=marker.coordinator_epoch,
                epoch_rises=marker.transaction_version >= _EPOCH_RISES_VERSION_MIN,
                now_ms=self._clock.wall_ms(),
            )
        except OSError as error:
            self._replicas.disk_failed(partition.directory, error)
            return Promise.kept(ErrorCode.KAFKA_STORAGE_ERROR)
        if isinstance(outcome, Refused):
            return Promise.kept(outcome.code)
        end_offset = outcome.last_offset + 1
        if topic == self._groups.topic:
            transaction = ProducerIdentity(marker.producer_id, marker.producer_epoch)
            self._groups.runtime.replay_end(index, transaction, end_offset, committed=marker.committed)
        return partition.replicated(end_offset)
