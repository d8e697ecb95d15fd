"""Appends one record to one partition of ``__remote_log_metadata``, wherever its leader is."""

from __future__ import annotations

from barnabas.env.clock import Clock
from barnabas.metadata.applier import MetadataView
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.model.topic_names import REMOTE_LOG_METADATA
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.records.validation import Refused
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.partition import ACKS_ALL
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

_PURPOSE = "remote-log-metadata-writes"


class MetadataWriter:
    def __init__(
        self, node_id: int, replicas: LocalReplicas, metadata: MetadataView, others: OtherBrokers, clock: Clock, *, timeout_ms: int
    ) -> None:
        """``timeout_ms`` is the time that a leader on another broker gets for the acknowledgements
        of all in-sync replicas."""
        self._node_id = node_id
        self._replicas = replicas
        self._metadata = metadata
        self._others = others
        self._clock = clock
        self._timeout_ms = timeout_ms

    def append(self, index: int, value: bytes) -> Promise[int | ErrorCode]:
        """The offset behind the record once it is committed, or the error code after which it may
        not be."""
        now_ms = self._clock.wall_ms()
        batch = build_batch([Record(0, now_ms, None, value)])
        leader = self._others.leader_of(TopicPartition(REMOTE_LOG_METADATA, index))
        if leader == NO_NODE:
            return Promise.kept(ErrorCode.LEADER_NOT_AVAILABLE)
        return self._append_here(index, batch, now_ms) if leader == self._node_id else self._send(leader, index, batch)

    def _append_here(self, index: int, batch: bytearray, now_ms: int) -> Promise[int | ErrorCode]:
        partition = self._replicas.get(REMOTE_LOG_METADATA, index)
        if partition is None:
            return Promise.kept(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        try:
            outcome = partition.append_own(batch, now_ms)
        except OSError as error:
            self._replicas.disk_failed(partition.directory, error)
            return Promise.kept(ErrorCode.KAFKA_STORAGE_ERROR)
        if isinstance(outcome, Refused):
            return Promise.kept(outcome.code)
        end_offset = outcome.last_offset + 1
        # A record that all in-sync replicas have is committed, even if fewer than the minimum are
        # in sync by now.
        committed = (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return partition.replicated(end_offset).map(lambda code: end_offset if code in committed else code)

    def _send(self, leader: int, index: int, batch: bytearray) -> Promise[int | ErrorCode]:
        topic = self._metadata.image.topics.by_name.get(REMOTE_LOG_METADATA)
        if topic is None:
            return Promise.kept(ErrorCode.LEADER_NOT_AVAILABLE)
        request = ProduceRequest(
            acks=ACKS_ALL,
            timeout_ms=self._timeout_ms,
            topic_data=[
                TopicProduceData(
                    name=REMOTE_LOG_METADATA,
                    topic_id=topic.topic_id,
                    partition_data=[PartitionProduceData(index=index, records=bytes(batch))],
                )
            ],
        )
        sent = self._others.send(leader, request, purpose=_PURPOSE)
        return sent.map(_outcome) if sent is not None else Promise.kept(ErrorCode.LEADER_NOT_AVAILABLE)


def _outcome(response: ProduceResponse | ErrorCode) -> int | ErrorCode:
    if isinstance(response, ErrorCode):
        return response
    for topic in response.responses:
        for answer in topic.partition_responses:
            code = known_error(answer.error_code)
            return code or (answer.base_offset + 1 if answer.base_offset >= 0 else ErrorCode.UNKNOWN_SERVER_ERROR)
    return ErrorCode.UNKNOWN_SERVER_ERROR
