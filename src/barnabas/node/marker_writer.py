"""Carries out what a transaction coordinator decided: the end of a transaction is written into every partition that it touched.

Tried until it is done, or until this node is not the transaction's coordinator any more; a transaction whose end is decided is ended.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.api.broker import Broker
from barnabas.api.transaction_markers import Marker, write_marker
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

RETRY_SECONDS = 0.1
# Somebody newer has taken over: nothing that this coordinator decides counts any more.
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})


class MarkerWriter:
    def __init__(self, broker: Callable[[], Broker]) -> None:
        self._broker = broker

    def perform(self, shard: int, effect: WriteMarkers) -> None:
        _Ending(self._broker(), shard, effect).start()


class _Ending:
    """One transaction on its way to its end."""

    def __init__(self, broker: Broker, shard: int, effect: WriteMarkers) -> None:
        self._broker = broker
        self._shard = shard
        self._effect = effect
        self._epoch = broker.transactions.runtime.epoch_of(shard)
        self._missing = set(effect.partitions)
        self._marker = Marker(
            producer_id=effect.producer_id,
            producer_epoch=effect.producer_epoch,
            coordinator_epoch=effect.coordinator_epoch,
            committed=effect.committed,
            transaction_version=effect.transaction_version,
        )

    def start(self) -> None:
        if not self._missing:
            self._written()
            return
        for partition in list(self._missing):
            self._try(partition)

    def _try(self, partition: TopicPartition) -> None:
        if self._broker.transactions.runtime.epoch_of(self._shard) != self._epoch:
            return
        write_marker(self._broker, partition.topic, partition.partition, self._marker).then(lambda code: self._tried(partition, code))

    def _tried(self, partition: TopicPartition, code: ErrorCode) -> None:
        if code in _FENCED:
            return
        if code and not (code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and self._is_gone(partition)):
            self._broker.loop.call_later(RETRY_SECONDS, self._try, partition)
            return
        self._missing.discard(partition)
        if not self._missing:
            self._written()

    def _is_gone(self, partition: TopicPartition) -> bool:
        topic = self._broker.metadata.image.topics.by_name.get(partition.topic)
        return topic is None or partition.partition not in topic.partitions

    def _written(self) -> None:
        effect = self._effect
        self._broker.transactions.run_at(
            self._shard,
            lambda machine, now_ms: machine.markers_written(effect.transactional_id, effect.producer_id, effect.producer_epoch, now_ms),
        )
