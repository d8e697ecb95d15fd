"""WriteTxnMarkers (key 27): a transaction coordinator ends a transaction in partitions that this
broker leads.

Behaviour: each partition has its own result, and the response is sent when all markers are on all
in-sync replicas. The broker writes a marker even if the partition has no open transaction, since
the coordinator cannot know that. The request is meant for brokers, and for administrators that end
a hanging transaction.

Version notes: from 2 the marker carries the transaction version, with which the broker tells a late
marker from a current one (KIP-1228).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from barnabas.api.broker import Broker
from barnabas.api.needs import ALTER_CLUSTER, CLUSTER_ACTION, checked
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

NEEDS = checked(ALTER_CLUSTER, CLUSTER_ACTION)


def handle(broker: Broker, caller: Caller, request: WriteTxnMarkersRequest) -> Promise[WriteTxnMarkersResponse]:
    access = broker.access
    if not access.may(caller, ALTER_CLUSTER, filters=True) and not access.may(caller, CLUSTER_ACTION):
        denied = [_result(each, repeat(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)) for each in request.markers]
        return Promise.kept(WriteTxnMarkersResponse(markers=denied))
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

    return all_of(outcomes).map(lambda codes: _result(asked, codes))


def _result(asked: WritableTxnMarker, codes: Iterable[ErrorCode]) -> WritableTxnMarkerResult:
    """``codes`` are those of the partitions, in the order of the request."""
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
