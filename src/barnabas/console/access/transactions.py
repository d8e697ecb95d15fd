"""Transactions as their coordinators know them, and as the partitions know them that they write
to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.administration.hanging_transactions import DescribedTransaction, Producer
from barnabas.administration.offset_reset import Partition
from barnabas.console.access.cluster_client import ClusterClient, CoordinatorOf
from barnabas.console.access.refusals import refuse_error
from barnabas.console.core.topic import Topic
from barnabas.console.errors import ConsoleError
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

# Partitions in one question: a leader answers for all of them at once.
_PARTITIONS_AT_ONCE: Final = 500
_NONE: Final = -1


class ListedTransaction(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


async def list_transactions(
    client: ClusterClient, *, states: list[str], producer_ids: list[int], duration_ms_min: int = _NONE
) -> tuple[list[ListedTransaction], list[str]]:
    """By id, and a sentence for each broker that does not answer."""
    brokers = [each.id for each in (await client.brokers()).brokers]
    request = ListTransactionsRequest(state_filters=states, producer_id_filters=producer_ids, duration_filter=duration_ms_min)
    found: list[ListedTransaction] = []
    problems: list[str] = []
    for broker, answer in (await client.ask_each_broker(lambda _: request, brokers)).items():
        if not isinstance(answer, ListTransactionsResponse):
            problems.append(f"Broker {broker} does not list its transactions: {answer}")
            continue
        refuse_error(answer.error_code, None, f"Cannot list the transactions of broker {broker}")
        found += [
            ListedTransaction(each.transactional_id, broker, each.producer_id, each.transaction_state) for each in answer.transaction_states
        ]
    return sorted(found), problems


async def describe_transactions(client: ClusterClient, listed: Iterable[ListedTransaction]) -> dict[str, DescribedTransaction]:
    """Those that their coordinators still know."""
    asked: dict[int, list[str]] = {}
    for each in listed:
        asked.setdefault(each.coordinator, []).append(each.transactional_id)
    answers = await client.ask_each_broker(lambda broker: DescribeTransactionsRequest(transactional_ids=asked[broker]), asked)
    return {
        state.transactional_id: described
        for broker, answer in answers.items()
        if isinstance(answer, DescribeTransactionsResponse)
        for state in answer.transaction_states
        if state.error_code == ErrorCode.NONE and (described := _described(answer, state.transactional_id, broker)) is not None
    }


async def describe_transaction(client: ClusterClient, transactional_id: str) -> DescribedTransaction | None:
    """None when its coordinator does not know it."""
    response: DescribeTransactionsResponse = await client.ask_coordinator(
        CoordinatorOf.TRANSACTION,
        transactional_id,
        DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        codes=lambda answer: (each.error_code for each in answer.transaction_states),
    )
    (state,) = response.transaction_states
    if state.error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        refuse_error(state.error_code, None, f"Cannot describe the transaction of {transactional_id}")
    coordinator = await client.coordinator(CoordinatorOf.TRANSACTION, transactional_id)
    return _described(response, transactional_id, coordinator.id)


def _described(response: DescribeTransactionsResponse, transactional_id: str, coordinator: int) -> DescribedTransaction | None:
    state = next((each for each in response.transaction_states if each.transactional_id == transactional_id), None)
    if state is None or state.error_code != ErrorCode.NONE:
        return None
    return DescribedTransaction(
        transactional_id,
        coordinator,
        state.producer_id,
        state.producer_epoch,
        state.transaction_state,
        state.transaction_timeout_ms,
        None if state.transaction_start_time_ms == _NONE else state.transaction_start_time_ms,
        tuple(sorted(Partition(topic.topic, number) for topic in state.topics for number in topic.partitions)),
    )


async def producers_of(client: ClusterClient, topics: Iterable[Topic]) -> tuple[list[Producer], list[str]]:
    """Producers that the leaders remember, and a sentence for each leader that does not answer."""
    by_leader: dict[int, list[Partition]] = {}
    for topic in topics:
        for each in topic.partitions:
            if each.leader >= 0:
                by_leader.setdefault(each.leader, []).append(Partition(topic.name, each.id))
    chunks = [
        (leader, those[first : first + _PARTITIONS_AT_ONCE])
        for leader, those in by_leader.items()
        for first in range(0, len(those), _PARTITIONS_AT_ONCE)
    ]
    answers = await asyncio.gather(*(_producers_at(client, *each) for each in chunks), return_exceptions=True)
    found: list[Producer] = []
    problems: list[str] = []
    for answer in answers:
        if isinstance(answer, ConsoleError):
            problems.append(answer.sentence)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found += answer
    return sorted(found), problems


async def _producers_at(client: ClusterClient, leader: int, partitions: list[Partition]) -> list[Producer]:
    by_topic: dict[str, list[int]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(each.number)
    asked = [TopicRequest(name=name, partition_indexes=numbers) for name, numbers in by_topic.items()]
    response: DescribeProducersResponse = await client.ask_broker(leader, DescribeProducersRequest(topics=asked))
    return [
        Producer(
            Partition(topic.name, partition.partition_index),
            each.producer_id,
            each.producer_epoch,
            None if each.coordinator_epoch == _NONE else each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            None if each.current_txn_start_offset == _NONE else each.current_txn_start_offset,
        )
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NONE
        for each in partition.active_producers
    ]


async def terminate(client: ClusterClient, transaction: DescribedTransaction) -> None:
    """A new producer with the same id aborts the transaction of the old one, and fences it. The id
    must exist, because InitProducerId would create it."""
    response: InitProducerIdResponse = await client.ask_coordinator(
        CoordinatorOf.TRANSACTION,
        transaction.transactional_id,
        InitProducerIdRequest(transactional_id=transaction.transactional_id, transaction_timeout_ms=transaction.timeout_ms),
        codes=lambda answer: [answer.error_code],
        is_change=True,
    )
    refuse_error(response.error_code, None, f"Cannot end the transaction of {transaction.transactional_id}")


async def write_abort_marker(client: ClusterClient, leader: int, producer: Producer) -> None:
    """Ends a transaction in one partition, past the coordinator."""
    place = producer.partition
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.number])],
        # Epoch zero is not newer than that of any coordinator that may have written a marker here.
        coordinator_epoch=producer.coordinator_epoch or 0,
    )
    response: WriteTxnMarkersResponse = await client.ask_broker(leader, WriteTxnMarkersRequest(markers=[marker]), is_change=True)
    for code in (each.error_code for result in response.markers for topic in result.topics for each in topic.partitions):
        refuse_error(code, None, f"Cannot abort the transaction in {place}")
