"""Carries out the decisions of a transaction coordinator: writes the end of a transaction into all
its partitions.

Partitions led here are written directly. For the others this broker sends WriteTxnMarkers to their
leaders, with many transactions in one request. It retries until all markers are written, or until
this node is no longer the coordinator: a transaction whose end is decided will end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.markers import LocalMarkers, Marker
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.network.outboxes import Outboxes
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from barnabas.coordinators.transaction.machine import TransactionMachine

RETRY_SECONDS = 0.1
_PURPOSE = "markers"
# A newer coordinator has taken over, so the decisions of this one no longer count.
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})
# The shard has moved; its new coordinator finds the decision in its log.
_ELSEWHERE = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_LEADER_OR_FOLLOWER})


class MarkerWriter:
    def __init__(
        self,
        node_id: int,
        transactions: Coordinator[TransactionMachine],
        local: LocalMarkers,
        others: OtherBrokers,
        image: Callable[[], MetadataImage],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """``image`` is the newest one, published or not. A shard that is loaded while an image is
        being published may find a transaction to end whose partitions are not in the previous
        image. To treat them as deleted would end the transaction without its markers.
        """
        self.node_id = node_id
        self.transactions = transactions
        self.local = local
        self._others = others
        self.image = image
        self.loop = loop
        self.outboxes: Outboxes[_BrokerMarkers] = Outboxes(self._send, key=lambda batch: batch.ending.marker.producer_id)
        self.stopped = False

    def perform(self, shard: int, effect: WriteMarkers) -> None:
        _Ending(self, shard, effect).start()

    def stop(self) -> None:
        self.stopped = True

    def _send(self, broker_id: int, batches: list[_BrokerMarkers]) -> Promise[None]:
        request = WriteTxnMarkersRequest(markers=[batch.as_marker() for batch in batches])
        sent = self._others.send(broker_id, request, purpose=_PURPOSE)
        if sent is None:
            _received(batches, ErrorCode.BROKER_NOT_AVAILABLE)
            return Promise.kept(None)
        return sent.map(lambda outcome: _received(batches, outcome))


class _BrokerMarkers(NamedTuple):
    """The markers of one transaction for one broker."""

    ending: _Ending
    partitions: list[TopicPartition]

    def as_marker(self) -> WritableTxnMarker:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in self.partitions:
            by_topic.setdefault(topic, []).append(partition)
        marker = self.ending.marker
        return WritableTxnMarker(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            transaction_result=marker.committed,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=indexes) for topic, indexes in by_topic.items()],
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
        )


def _received(batches: list[_BrokerMarkers], outcome: WriteTxnMarkersResponse | ErrorCode) -> None:
    """A partition that the response does not name is retried, like one that failed."""
    found: dict[tuple[int, str, int], ErrorCode] = {}
    missing = outcome if isinstance(outcome, ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
    if not isinstance(outcome, ErrorCode):
        for marker in outcome.markers:
            for topic in marker.topics:
                for each in topic.partitions:
                    found[marker.producer_id, topic.name, each.partition_index] = known_error(each.error_code)
    for batch in batches:
        for partition in batch.partitions:
            batch.ending.tried(partition, found.get((batch.ending.marker.producer_id, *partition), missing))


class _Ending:
    """One transaction whose markers are being written."""

    def __init__(self, writer: MarkerWriter, shard: int, effect: WriteMarkers) -> None:
        self._writer = writer
        self._shard = shard
        self._effect = effect
        self._epoch = writer.transactions.runtime.epoch_of(shard)
        self._missing = set(effect.partitions)
        self._again: set[TopicPartition] = set()
        self.marker = Marker(
            producer_id=effect.producer_id,
            producer_epoch=effect.producer_epoch,
            coordinator_epoch=effect.coordinator_epoch,
            committed=effect.committed,
            transaction_version=effect.transaction_version,
        )

    @property
    def _over(self) -> bool:
        return self._writer.stopped or self._writer.transactions.runtime.epoch_of(self._shard) != self._epoch

    def start(self) -> None:
        if self._missing:
            self._try(self._effect.partitions)
        else:
            self._written()

    def _try(self, partitions: Collection[TopicPartition]) -> None:
        if self._over:
            return
        elsewhere: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            known = self._writer.image().topics.partition(partition)
            leader = known.leader if known is not None else NO_NODE
            if leader == self._writer.node_id:
                self._writer.local.write(*partition, self.marker).then(partial(self.tried, partition))
            elif leader == NO_NODE:
                self.tried(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                elsewhere.setdefault(leader, []).append(partition)
        for leader, led in elsewhere.items():
            self._writer.outboxes.put(leader, _BrokerMarkers(self, led))

    def tried(self, partition: TopicPartition, code: ErrorCode) -> None:
        if code in _FENCED:
            return
        if code and not (code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and self._is_gone(partition)):
            self._try_later(partition)
            return
        self._missing.discard(partition)
        if not self._missing:
            self._written()

    def _try_later(self, partition: TopicPartition) -> None:
        self._again.add(partition)
        if len(self._again) == 1 and not self._over:
            self._writer.loop.call_later(RETRY_SECONDS, self._try_again)

    def _try_again(self) -> None:
        # Sorted: the order of a set differs from process to process, and simulations must not.
        again, self._again = sorted(self._again), set()
        self._try(again)

    def _is_gone(self, partition: TopicPartition) -> bool:
        return self._writer.image().topics.partition(partition) is None

    def _written(self) -> None:
        if self._over:
            return
        effect = self._effect
        completed = self._writer.transactions.run_at(
            self._shard,
            lambda machine, now_ms: machine.markers_written(effect.transactional_id, effect.producer_id, effect.producer_epoch, now_ms),
        )
        completed.then(self._completed)

    def _completed(self, outcome: ErrorCode | None) -> None:
        """The log of the shard may refuse the record for lack of replicas. Until it accepts, the
        producer's next transaction cannot begin.
        """
        if outcome and outcome not in _ELSEWHERE:
            self._writer.loop.call_later(RETRY_SECONDS, self._written)
