"""Conversion of a transactional id to its log record and back."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from barnabas.coordinators.record import CoordinatorRecord
from barnabas.coordinators.transaction.state import TransactionState
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.coordinators.transaction.transaction_version import log_value_version
from barnabas.model.ids import TopicPartition
from barnabas.wire.coordinator_records.transaction_log import PartitionsSchema, TransactionLogKey, TransactionLogValue


def record_of(transaction: Transaction, transaction_version: int) -> CoordinatorRecord:
    """``transaction_version`` is that of the cluster: below 1 there may be readers that do not know
    tagged fields.
    """
    version = log_value_version(transaction_version)
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.value,
        transaction_partitions=None if transaction.state is TransactionState.EMPTY else _by_topic(transaction.partitions),
        transaction_last_update_timestamp_ms=transaction.update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return CoordinatorRecord(TransactionLogKey(transactional_id=transaction.transactional_id), value, version)


def tombstone_of(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), None)


def transaction_of(transactional_id: str, value: TransactionLogValue) -> Transaction:
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=TransactionState(value.transaction_status),
        update_ms=value.transaction_last_update_timestamp_ms,
        start_ms=value.transaction_start_timestamp_ms,
        partitions=frozenset(
            TopicPartition(each.topic, partition) for each in value.transaction_partitions or () for partition in each.partition_ids
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
    )


def _by_topic(partitions: frozenset[TopicPartition]) -> list[PartitionsSchema]:
    return [
        PartitionsSchema(topic=topic, partition_ids=[each.partition for each in of_topic])
        for topic, of_topic in groupby(sorted(partitions), key=attrgetter("topic"))
    ]
