"""Transactions as their coordinators know them, and as the partitions know them that they write to.

The two can disagree: a partition may hold a transaction open that no coordinator knows any more. No
coordinator will ever end that one, and read_committed consumers wait at its first record for good:
it *hangs* (:mod:`barnabas.administration.hanging_transactions`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from barnabas.administration.hanging_transactions import DescribedTransaction, Producer, hanging, long_open
from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Broker, Brokers, CoordinatorOf, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse, ProducerState, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin

# A broker answers for all partitions of a request at once, so a search of the whole cluster is
# split.
PARTITIONS_PER_REQUEST_MAX = 500
_NONE = -1


class ListedTransaction(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


def list_transactions(brokers: Brokers, request: ListTransactionsRequest) -> list[ListedTransaction]:
    found: list[ListedTransaction] = []
    for broker in brokers.all():
        response: ListTransactionsResponse = brokers.ask(broker, request, codes=lambda response: [response.error_code])
        doing = f"Cannot list the transactions of broker {broker.node_id}"
        refuse_error(response.error_code, None, doing)
        if response.unknown_state_filters:
            raise Refused(f"{doing}: it does not know the state {', '.join(response.unknown_state_filters)}.")
        found += [
            ListedTransaction(each.transactional_id, broker.node_id, each.producer_id, each.transaction_state)
            for each in response.transaction_states
        ]
    return sorted(found)


def describe_transaction(brokers: Brokers, transactional_id: str) -> DescribedTransaction | None:
    """None when no coordinator knows it."""
    response: DescribeTransactionsResponse = brokers.ask_coordinator(
        CoordinatorOf.TRANSACTION,
        transactional_id,
        DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        codes=lambda response: (each.error_code for each in response.transaction_states),
    )
    (state,) = response.transaction_states
    if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return None
    refuse_error(state.error_code, None, f"Cannot describe the transaction of {transactional_id}")
    return DescribedTransaction(
        transactional_id,
        brokers.coordinator(CoordinatorOf.TRANSACTION, transactional_id).node_id,
        state.producer_id,
        state.producer_epoch,
        state.transaction_state,
        state.transaction_timeout_ms,
        None if state.transaction_start_time_ms == _NONE else state.transaction_start_time_ms,
        tuple(sorted(Partition(topic.topic, number) for topic in state.topics for number in topic.partitions)),
    )


def leaders(admin: Admin, names: list[str], *, missing_ok: bool = False) -> dict[Partition, Broker | None]:
    """The leaders of the partitions of topics; None for a partition without a leader."""
    found: dict[Partition, Broker | None] = {}
    for topic in admin.describe_topics(names, missing_ok=missing_ok).values():
        for each in topic.partitions:
            led = each.leader
            found[Partition(topic.name, each.id)] = Broker(led.id, f"{led.host}:{led.port}") if led is not None else None
    return found


def leader(admin: Admin, partition: Partition) -> Broker:
    found = leaders(admin, [partition.topic])
    if partition not in found:
        raise Refused(f"Topic {partition.topic} has no partition {partition.number}.")
    broker = found[partition]
    if broker is None:
        raise Refused(f"{partition} has no leader at the moment.")
    return broker


def describe_producers(brokers: Brokers, broker: Broker, partitions: Iterable[Partition]) -> list[Producer]:
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.number)
    topics = [TopicRequest(name=name, partition_indexes=numbers) for name, numbers in by_topic.items()]
    response: DescribeProducersResponse = brokers.ask(broker, DescribeProducersRequest(topics=topics))
    found = []
    for topic in response.topics:
        for each in topic.partitions:
            partition = Partition(topic.name, each.partition_index)
            refuse_error(each.error_code, each.error_message, f"Cannot describe the producers of {partition}")
            found += [_producer(partition, state) for state in each.active_producers]
    return sorted(found)


def write_abort_marker(brokers: Brokers, broker: Broker, producer: Producer) -> None:
    partition = producer.partition
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.number])],
        # Epoch zero is not newer than that of any coordinator that may have written a marker here.
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    response: WriteTxnMarkersResponse = brokers.ask(broker, WriteTxnMarkersRequest(markers=[marker]))
    for code in (each.error_code for result in response.markers for topic in result.topics for each in topic.partitions):
        refuse_error(code, None, f"Cannot abort the transaction in {partition}")


def find_hanging(brokers: Brokers, partitions: Mapping[Partition, Broker | None], *, now_ms: int, age_ms_min: int) -> list[Producer]:
    candidates: list[Producer] = []
    for broker, those in _by_leader(partitions).items():
        for first in range(0, len(those), PARTITIONS_PER_REQUEST_MAX):
            producers = describe_producers(brokers, broker, those[first : first + PARTITIONS_PER_REQUEST_MAX])
            candidates += long_open(producers, now_ms=now_ms, age_ms_min=age_ms_min)
    if not candidates:
        return []
    return _without_coordinator(brokers, candidates)


def _without_coordinator(brokers: Brokers, candidates: Collection[Producer]) -> list[Producer]:
    producer_ids = sorted({each.producer_id for each in candidates})
    listed = list_transactions(brokers, ListTransactionsRequest(state_filters=[], producer_id_filters=producer_ids))
    ids = {each.producer_id: each.transactional_id for each in listed}
    described = {each: describe_transaction(brokers, each) for each in ids.values()}
    return sorted(hanging(candidates, ids, described))


def _by_leader(partitions: Mapping[Partition, Broker | None]) -> dict[Broker, list[Partition]]:
    found: dict[Broker, list[Partition]] = {}
    for partition, broker in sorted(partitions.items(), key=lambda each: each[0]):
        if broker is not None:
            found.setdefault(broker, []).append(partition)
    return found


def _producer(partition: Partition, state: ProducerState) -> Producer:
    return Producer(
        partition,
        state.producer_id,
        state.producer_epoch,
        None if state.coordinator_epoch == _NONE else state.coordinator_epoch,
        state.last_sequence,
        state.last_timestamp,
        None if state.current_txn_start_offset == _NONE else state.current_txn_start_offset,
    )
