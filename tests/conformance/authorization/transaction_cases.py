"""Requests about transactions. The producer id is wrong, so an allowed request changes nothing."""

from __future__ import annotations

from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.conformance.authorization.case import GROUP, OPEN, TOPICS, TXN, TXNS, Case, Question
from tests.conformance.authorization.sides import Side

NOBODY = 987_654_321
BATCHED = 4
PRODUCERS = {"transaction_states[].producer_id": "each hands out its own ids"}


def init(transactional_id: str | None) -> Question:
    return lambda side, version: InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=10_000)


def add(*topics: str) -> Question:
    def ask(side: Side, version: int) -> AddPartitionsToTxnRequest:
        named = [AddPartitionsToTxnTopic(name=each, partitions=[0]) for each in topics]
        if version < BATCHED:
            return AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=TXN,
                v3_and_below_producer_id=NOBODY,
                v3_and_below_producer_epoch=0,
                v3_and_below_topics=named,
            )
        asked = [
            AddPartitionsToTxnTransaction(transactional_id=each, producer_id=NOBODY, producer_epoch=0, verify_only=True, topics=named)
            for each in TXNS
        ]
        return AddPartitionsToTxnRequest(transactions=asked)

    return ask


def commit_offsets(side: Side, version: int) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topics = [TxnOffsetCommitRequestTopic(name=each, partitions=[partition]) for each in TOPICS]
    return TxnOffsetCommitRequest(transactional_id=TXN, group_id=GROUP, producer_id=NOBODY, producer_epoch=0, topics=topics)


def markers(side: Side, version: int) -> WriteTxnMarkersRequest:
    topics = [WritableTxnMarkerTopic(name="absent", partition_indexes=[0])]
    marker = WritableTxnMarker(producer_id=NOBODY, producer_epoch=0, transaction_result=False, topics=topics, coordinator_epoch=0)
    return WriteTxnMarkersRequest(markers=[marker])


CASES = [
    Case("InitProducerId of a transaction", InitProducerIdRequest, init(TXN), ("WRITE txn",), (("DESCRIBE txn txn",),)),
    Case(
        "InitProducerId",
        InitProducerIdRequest,
        init(None),
        (),
        (
            ("IDEMPOTENT_WRITE cluster",),
            ("WRITE topic absent",),
            ("WRITE topic ab*",),
            ("ALL topic ab*",),
            ("READ topic *",),
            ("WRITE topic absent", "DENY WRITE topic *"),
            ("WRITE topic absent", "DENY WRITE topic ab*"),
            ("WRITE topic absent", "DENY ALL topic absent"),
            ("WRITE topic *", "DENY WRITE topic a*"),
            ("WRITE topic ab*", "DENY WRITE topic a*"),
            ("WRITE topic a*", "DENY WRITE topic ab*"),
            ("WRITE topic absent from 10.0.0.1",),
            ("IDEMPOTENT_WRITE cluster", "DENY IDEMPOTENT_WRITE cluster"),
            ("IDEMPOTENT_WRITE cluster", "DENY IDEMPOTENT_WRITE cluster", "WRITE topic open"),
        ),
    ),
    Case(
        "AddPartitionsToTxn",
        AddPartitionsToTxnRequest,
        add(*TOPICS),
        ("WRITE txn", "WRITE topic"),
        (("WRITE txn txn", "WRITE topic *"), ("CLUSTER_ACTION cluster",)),
        versions=(0, 3, 4, 5),
    ),
    Case(
        "AddPartitionsToTxn of one topic",
        AddPartitionsToTxnRequest,
        add(OPEN),
        ("WRITE txn", "WRITE topic"),
        versions=(0, 3),
    ),
    Case(
        "AddPartitionsToTxn of an internal topic",
        AddPartitionsToTxnRequest,
        add(OPEN, "__consumer_offsets"),
        (),
        (("WRITE txn txn", "WRITE topic *"),),
        versions=(0, 3),
    ),
    Case(
        "AddOffsetsToTxn",
        AddOffsetsToTxnRequest,
        lambda side, version: AddOffsetsToTxnRequest(transactional_id=TXN, producer_id=NOBODY, producer_epoch=0, group_id=GROUP),
        ("WRITE txn", "READ group"),
    ),
    Case(
        "EndTxn",
        EndTxnRequest,
        lambda side, version: EndTxnRequest(transactional_id=TXN, producer_id=NOBODY, producer_epoch=0, committed=True),
        ("WRITE txn",),
    ),
    Case("TxnOffsetCommit", TxnOffsetCommitRequest, commit_offsets, ("WRITE txn", "READ group", "READ topic")),
    Case("WriteTxnMarkers", WriteTxnMarkersRequest, markers, (), (("ALTER cluster",), ("CLUSTER_ACTION cluster",), ("WRITE txn *",))),
    Case(
        "DescribeTransactions",
        DescribeTransactionsRequest,
        lambda side, version: DescribeTransactionsRequest(transactional_ids=[*TXNS, "ongoing"]),
        ("DESCRIBE txn",),
        (("DESCRIBE txn *", "DESCRIBE topic open"), ("WRITE txn ongoing", "READ topic hidden")),
        differ=PRODUCERS | {"transaction_states[].producer_epoch": "counts the cases"},
    ),
    Case(
        "ListTransactions",
        ListTransactionsRequest,
        lambda side, version: ListTransactionsRequest(state_filters=[], producer_id_filters=[]),
        ("DESCRIBE txn",),
        (("DESCRIBE cluster",),),
        differ=PRODUCERS,
    ),
]
