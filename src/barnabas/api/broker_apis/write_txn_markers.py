"""WriteTxnMarkers (key 27): a transaction coordinator ends a transaction in the partitions this broker leads.

Behaviour: each partition has its own outcome; answered when all of them are on all in-sync replicas. A marker for a partition without
an open transaction is written all the same, since the coordinator cannot know. Meant for brokers.

Version notes: the transaction's version from 2 on, with which a marker that comes late is told from the one that is due.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.coordinators.markers import Marker
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def handle(broker: Broker, caller: Caller, request: WriteTxnMarkersRequest) -> Promise[WriteTxnMarkersResponse]:
    return all_of([_write(broker, each) for each in request.markers]).map(lambda markers: WriteTxnMarkersResponse(markers=markers))


def _write(broker: Broker, asked: WritableTxnMarker) -> Promise[WritableTxnMarkerResult]:
    marker = Marker(
        producer_id=asked.producer_id,
        producer_epoch=asked.producer_epoch,
        coordinator_epoch=asked.coordinator_epoch,
        committed=asked.transaction_result,
        transaction_version=asked.transaction_version,
    )
    outcomes = [broker.markers.write(topic.name, index, marker) for topic in asked.topics for index in topic.partition_indexes]

    def answer(codes: list[ErrorCode]) -> WritableTxnMarkerResult:
        left = iter(codes)
        topics = [
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(partition_index=index, error_code=next(left)) for index in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ]
        return WritableTxnMarkerResult(producer_id=asked.producer_id, topics=topics)

    return all_of(outcomes).map(answer)
