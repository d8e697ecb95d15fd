"""AddPartitionsToTxn (key 24): add partitions to a transaction, or verify that they were added.

Behaviour: the request adds all partitions of a transaction or none. A partition that does not exist
gets UNKNOWN_TOPIC_OR_PARTITION, an internal topic named by a client gets
TOPIC_AUTHORIZATION_FAILED, and then all other partitions get OPERATION_NOT_ATTEMPTED. Verification
has a result for each partition.

Version notes: clients send 0 to 3, for one transaction. PRODUCER_FENCED from 2; older clients get
INVALID_PRODUCER_EPOCH instead. Brokers send 4 and later, for many transactions: to verify
partitions that older clients produce to, or to add partitions that clients of transaction version 2
produce to (KIP-890). TRANSACTION_ABORTABLE from 5.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from barnabas.api.access import EVERYTHING
from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID, checked
from barnabas.coordinators.transaction.older_clients import without_producer_fenced
from barnabas.coordinators.transaction.transaction_version import version_of_add_partitions
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise, all_of
from barnabas.model.topic_names import INTERNAL_TOPICS
from barnabas.network.caller import Caller
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

NEEDS = checked(WRITE_TRANSACTIONAL_ID, WRITE_TOPIC, CLUSTER_ACTION)

_PRODUCER_FENCED_VERSION_MIN = 2
_BROKERS_VERSION_MIN = 4

_Results = Mapping[TopicPartition, ErrorCode]


def handle(broker: Broker, caller: Caller, request: AddPartitionsToTxnRequest) -> Promise[AddPartitionsToTxnResponse]:
    version = caller.version
    if version < _BROKERS_VERSION_MIN:
        only = _only_transaction(request)
        return _decide(broker, caller, only).map(
            lambda results: AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=_by_topic(only, results))
        )
    if not broker.access.may(caller, CLUSTER_ACTION):
        return Promise.kept(
            AddPartitionsToTxnResponse(throttle_time_ms=0, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, results_by_transaction=[])
        )
    asked = request.transactions

    def answer(decided: list[_Results]) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            results_by_transaction=[
                AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=_by_topic(transaction, results))
                for transaction, results in zip(asked, decided, strict=True)
            ],
        )

    return all_of([_decide(broker, caller, each) for each in asked]).map(answer)


def _only_transaction(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        verify_only=False,
        topics=request.v3_and_below_topics,
    )


def _decide(broker: Broker, caller: Caller, asked: AddPartitionsToTxnTransaction) -> Promise[_Results]:
    version = caller.version
    partitions = [TopicPartition(topic.name, partition) for topic in asked.topics for partition in topic.partitions]
    if version < _BROKERS_VERSION_MIN and not broker.access.may(caller, WRITE_TRANSACTIONAL_ID, asked.transactional_id):
        return Promise.kept(dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    may_write = EVERYTHING
    if version < _BROKERS_VERSION_MIN:
        may_write = broker.access.allowed(caller, WRITE_TOPIC, (topic for topic, _ in partitions if topic not in INTERNAL_TOPICS))
    impossible = {each: error for each in partitions if (error := _why_impossible(broker, version, each, may_write))}
    if impossible:
        return Promise.kept({each: impossible.get(each, ErrorCode.OPERATION_NOT_ATTEMPTED) for each in partitions})
    transactional_id = asked.transactional_id
    if not transactional_id:
        return Promise.kept(dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST))

    def for_all(result: _Results | ErrorCode) -> _Results:
        if not isinstance(result, ErrorCode):
            return result
        error = client_error(result)
        return dict.fromkeys(partitions, error if version >= _PRODUCER_FENCED_VERSION_MIN else without_producer_fenced(error))

    if asked.verify_only:
        verified = broker.transactions.run(
            transactional_id,
            lambda machine, _: machine.verify(transactional_id, asked.producer_id, asked.producer_epoch, partitions),
        )
        return verified.map(for_all)
    added = broker.transactions.run(
        transactional_id,
        lambda machine, now_ms: machine.add_partitions(
            transactional_id,
            asked.producer_id,
            asked.producer_epoch,
            partitions,
            now_ms,
            transaction_version=version_of_add_partitions(version),
        ),
    )
    return added.map(for_all)


def _why_impossible(broker: Broker, version: int, partition: TopicPartition, may_write: Container[str]) -> ErrorCode:
    if version < _BROKERS_VERSION_MIN and (partition.topic in INTERNAL_TOPICS or partition.topic not in may_write):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    known = broker.metadata.image.topics.partition(partition) is not None
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _by_topic(asked: AddPartitionsToTxnTransaction, results: _Results) -> list[AddPartitionsToTxnTopicResult]:
    by_topic: dict[str, list[AddPartitionsToTxnPartitionResult]] = {topic.name: [] for topic in asked.topics}
    for (topic, partition), error in results.items():
        by_topic[topic].append(AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=error))
    return [AddPartitionsToTxnTopicResult(name=name, results_by_partition=each) for name, each in by_topic.items()]
