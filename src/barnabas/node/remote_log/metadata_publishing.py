"""One record into one partition of ``__remote_log_metadata``, wherever its leader is."""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.other_brokers import leader_of, peer_of, told_by_peer
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.model.topic_names import REMOTE_LOG_METADATA
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.records.validation import Refused
from barnabas.replication.partition import ACKS_ALL
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

_PURPOSE = "remote-log-metadata-writes"


def append_metadata(broker: Broker, index: int, value: bytes) -> Promise[int | ErrorCode]:
    """The offset behind the record once it is committed, or why it may not be."""
    now_ms = broker.clock.wall_ms()
    batch = build_batch([Record(0, now_ms, None, value)])
    leader = leader_of(broker, TopicPartition(REMOTE_LOG_METADATA, index))
    if leader == NO_NODE:
        return Promise.kept(ErrorCode.LEADER_NOT_AVAILABLE)
    return _append_here(broker, index, batch, now_ms) if leader == broker.node_id else _send(broker, leader, index, batch)


def _append_here(broker: Broker, index: int, batch: bytearray, now_ms: int) -> Promise[int | ErrorCode]:
    partition = broker.replicas.get(REMOTE_LOG_METADATA, index)
    if partition is None:
        return Promise.kept(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    try:
        outcome = partition.append_own(batch, now_ms)
    except OSError as error:
        broker.replicas.disk_failed(partition.directory, error)
        return Promise.kept(ErrorCode.KAFKA_STORAGE_ERROR)
    if isinstance(outcome, Refused):
        return Promise.kept(outcome.code)
    end_offset = outcome.last_offset + 1
    # What all in-sync replicas have is committed, however few they have become since.
    fine = (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return partition.replicated(end_offset).map(lambda code: end_offset if code in fine else code)


def _send(broker: Broker, leader: int, index: int, batch: bytearray) -> Promise[int | ErrorCode]:
    topic = broker.metadata.image.topics.by_name.get(REMOTE_LOG_METADATA)
    peer = peer_of(broker, leader, _PURPOSE)
    if topic is None or peer is None:
        return Promise.kept(ErrorCode.LEADER_NOT_AVAILABLE)
    timeout_ms = broker.settings.integer("request.timeout.ms")
    request = ProduceRequest(
        acks=ACKS_ALL,
        timeout_ms=timeout_ms,
        topic_data=[
            TopicProduceData(
                name=REMOTE_LOG_METADATA,
                topic_id=topic.topic_id,
                partition_data=[PartitionProduceData(index=index, records=bytes(batch))],
            )
        ],
    )
    return peer.send(request, timeout_ms=timeout_ms).map(_outcome)


def _outcome(response: ProduceResponse | ErrorCode) -> int | ErrorCode:
    if isinstance(response, ErrorCode):
        return response
    for topic in response.responses:
        for answer in topic.partition_responses:
            code = told_by_peer(answer.error_code)
            return code or (answer.base_offset + 1 if answer.base_offset >= 0 else ErrorCode.UNKNOWN_SERVER_ERROR)
    return ErrorCode.UNKNOWN_SERVER_ERROR
