"""Appends producers' batches to one partition, with one write for all that can go together."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.api.broker import Broker
from barnabas.env.disk import out_of_room
from barnabas.model.errors import ErrorCode
from barnabas.records.validation import Refused
from barnabas.replication.partition import Partition, ProducedBatch
from barnabas.storage.log import Appended

_DISK_FAILED = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk failed while appending")
_DISK_FULL = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the partition's log directory is full")


def append_all(broker: Broker, partition: Partition, batches: Sequence[ProducedBatch], now_ms: int) -> Sequence[Appended | Refused]:
    """The outcome of every batch, in order.

    When the disk fails, the batches that were not written before the failure are refused.
    """
    outcomes: Sequence[Appended | Refused] = ()
    try:
        outcomes = partition.append_batches(batches, now_ms)
        while len(outcomes) < len(batches):
            outcomes = [*outcomes, *partition.append_batches(batches[len(outcomes) :], now_ms)]
    except OSError as error:
        broker.replicas.disk_failed(partition.directory, error)
        refused = _DISK_FULL if out_of_room(error) else _DISK_FAILED
        outcomes = [*outcomes, *[refused] * (len(batches) - len(outcomes))]
    return outcomes
