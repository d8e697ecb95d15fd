"""Requests about transactions, short enough to be read as a script."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic

BATCHED_VERSION_MIN = 4  # of AddPartitionsToTxn, which only brokers send from then on

Topics = Sequence[tuple[str, Sequence[int]]]


def init(transactional_id: str | None, *, timeout_ms: int = 60_000, producer_id: int = -1, epoch: int = -1) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, producer_id=producer_id, producer_epoch=epoch
    )


def add(
    version: int, transactional_id: str, producer_id: int, epoch: int, topics: Topics, *, verify: bool = False
) -> AddPartitionsToTxnRequest:
    asked = [AddPartitionsToTxnTopic(name=name, partitions=list(partitions)) for name, partitions in topics]
    if version < BATCHED_VERSION_MIN:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=asked,
        )
    one = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, verify_only=verify, topics=asked
    )
    return AddPartitionsToTxnRequest(transactions=[one])


def add_offsets(transactional_id: str, producer_id: int, epoch: int, group: str) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, group_id=group)


def commit_offsets(
    transactional_id: str,
    producer_id: int,
    epoch: int,
    group: str,
    topic: str,
    *offsets: tuple[int, int],
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    metadata: str | None = "",
) -> TxnOffsetCommitRequest:
    partitions = [
        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)
        for index, offset in offsets
    ]
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer_id,
        producer_epoch=epoch,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)],
    )


def end(transactional_id: str, producer_id: int, epoch: int, *, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=commit)


def produce(
    transactional_id: str | None,
    producer_id: int,
    epoch: int,
    topic: str,
    partition: int = 0,
    *,
    sequence: int = 0,
    transactional: bool = True,
) -> ProduceRequest:
    batch = build_batch(
        [Record(0, 1000, b"key", b"value")],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=bytes(batch))])]
    return ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=data)


def read(topic: str, partition: int = 0, *, committed: bool = True, offset: int = 0) -> FetchRequest:
    asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=10**6)
    return FetchRequest(max_wait_ms=0, min_bytes=0, isolation_level=int(committed), topics=[FetchTopic(topic=topic, partitions=[asked])])
