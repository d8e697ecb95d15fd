"""A minimal client: one socket, our own message classes, and nothing done behind the test's back.

It can send any bytes in any order and in any pieces, which no real client allows, and it decodes
every response to the last byte.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.records.batch_builder import build_batch
from barnabas.records.batches import walk
from barnabas.records.record import Record, open_batch
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import request_header_version, response_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.produce import PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.waiting import PATIENCE_SECONDS

# The newest versions in which topics still go by name, so that a test need not look up ids.
PRODUCE_BY_NAME, FETCH_BY_NAME = 12, 12
NOW_MS = 1_700_000_000_000
_LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">hhih")


class HungUp(ConnectionError):
    """The broker closed the connection."""


def frame_of(request: Any, version: int, *, correlation_id: int = 0, client_id: str | None = "test") -> bytes:
    """A request as it goes over the wire, its length in front."""
    key = declaration_of(type(request)).key
    assert key is not None
    name = b"" if client_id is None else client_id.encode()
    header = _HEADER.pack(key, version, correlation_id, -1 if client_id is None else len(name)) + name
    if request_header_version(type(request), version) == 2:
        header += b"\x00"
    body = header + encode(request, version)
    return _LENGTH.pack(len(body)) + body


def newest(request: Any) -> int:
    key = declaration_of(type(request)).key
    assert key is not None
    return stable_versions(ApiKey(key)).highest


class Client:
    def __init__(
        self,
        bootstrap: str,
        *,
        timeout: float = PATIENCE_SECONDS,
        receive_buffer_bytes: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.socket()
        if receive_buffer_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect((host, int(port)))
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        except OSError:
            self.socket.close()
            raise
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    # -- sending ------------------------------------------------------------------------------

    def send(self, request: Any, version: int | None = None) -> int:
        """Sends without waiting; returns the correlation id."""
        self._next_id += 1
        self.socket.sendall(frame_of(request, newest(request) if version is None else version, correlation_id=self._next_id))
        return self._next_id

    def send_bytes(self, data: bytes | bytearray) -> None:
        self.socket.sendall(data)

    # -- receiving ----------------------------------------------------------------------------

    def receive_exactly(self, size_bytes: int) -> bytes:
        parts = bytearray()
        while len(parts) < size_bytes:
            try:
                part = self.socket.recv(min(size_bytes - len(parts), 1 << 20))
            except ConnectionResetError:
                part = b""
            if not part:
                raise HungUp(f"after {len(parts)} of {size_bytes} bytes")
            parts += part
        return bytes(parts)

    def receive_frame(self) -> bytes:
        (length,) = _LENGTH.unpack(self.receive_exactly(4))
        return self.receive_exactly(length)

    def receive(self, request: Any, version: int | None = None) -> tuple[int, Any]:
        """The correlation id and the body of the next response, which must answer such a
        ``request``."""
        return decode_response(self.receive_frame(), type(request), newest(request) if version is None else version)

    def ask(self, request: Any, version: int | None = None) -> Any:
        sent = self.send(request, version)
        answered, response = self.receive(request, version)
        assert answered == sent, f"answer to {answered} where {sent} was asked"
        return response

    def hung_up(self) -> bool:
        """Whether the broker closes the connection without another byte; waits until it does."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    # -- shortcuts for tests ------------------------------------------------------------------

    def log_in(self, user: str, password: str) -> None:
        """With PLAIN."""
        assert self.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        token = b"\x00".join((b"", user.encode(), password.encode()))
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
        assert answer.error_code == 0, answer

    def probe(self) -> None:
        """The broker serves."""
        assert self.ask(ApiVersionsRequest(client_software_name="test", client_software_version="1")).error_code == 0

    def create_topic(self, name: str, partitions: int = 1, configs: dict[str, str] | None = None) -> Uuid:
        response = self.ask(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name,
                        num_partitions=partitions,
                        replication_factor=-1,
                        assignments=[],
                        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
                    )
                ]
            )
        )
        (made,) = response.topics
        assert made.error_code == 0, made
        topic_id: Uuid = made.topic_id
        return topic_id

    def delete_topic(self, name: str) -> None:
        (gone,) = self.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=ZERO_UUID)], timeout_ms=10_000)).responses
        assert gone.error_code == 0, gone

    def alter_configs(self, kind: int, name: str, values: dict[str, str]) -> None:
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=[AlterableConfig(name=key, config_operation=0, value=value) for key, value in values.items()],
                )
            ],
            validate_only=False,
        )
        (altered,) = self.ask(request).responses
        assert altered.error_code == 0, altered

    def produce_batch(self, topic: str, partition: int, batch: bytes | bytearray | None, *, acks: int = 1) -> PartitionProduceResponse:
        response = self.ask(produce_request(topic, partition, batch, acks=acks), PRODUCE_BY_NAME)
        answer: PartitionProduceResponse = response.responses[0].partition_responses[0]
        return answer

    def produce(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> int:
        """Appends the values as one batch; returns its base offset."""
        answer = self.produce_batch(topic, partition, batch_of(values))
        assert answer.error_code == 0, answer
        return answer.base_offset

    def fetch(self, topic: str, partition: int = 0, offset: int = 0, **options: int) -> Any:
        """The response for one partition, at once and with any records that there are."""
        response = self.ask(fetch_request([(topic, partition, offset)], **options), FETCH_BY_NAME)
        assert response.error_code == 0
        return response.responses[0].partitions[0]

    def values(self, topic: str, partition: int = 0, offset: int = 0) -> list[bytes | None]:
        """Every value from ``offset`` to the end."""
        found: list[bytes | None] = []
        while True:
            answer = self.fetch(topic, partition, offset)
            assert answer.error_code == 0, answer
            records = [record for record in records_in(answer.records) if record.offset >= offset]
            if not records:
                return found
            found += [record.value for record in records]
            offset = records[-1].offset + 1

    def end_offset(self, topic: str, partition: int = 0, *, timestamp: int = -1) -> int:
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=timestamp)])],
        )
        answer = self.ask(request).topics[0].partitions[0]
        assert answer.error_code == 0, answer
        offset: int = answer.offset
        return offset


def decode_response(frame: bytes, request: type[Any], version: int) -> tuple[int, Any]:
    key = declaration_of(request).key
    assert key is not None
    cls = messages(ApiKey(key))[1]
    (correlation_id,) = _LENGTH.unpack_from(frame)
    position = 4
    if response_header_version(cls, version) == 1:
        assert frame[position] == 0, "no tagged field is defined for response headers"
        position += 1
    response, end = decode(cls, version, frame, position)
    assert end == len(frame), f"{len(frame) - end} bytes follow a {cls.__name__}"
    return correlation_id, response


def batch_of(values: Iterable[bytes | None], *, timestamp: int = NOW_MS, key: bytes | None = None, **options: Any) -> bytearray:
    return build_batch([Record(offset, timestamp, key, value) for offset, value in enumerate(values)], **options)


def records_in(data: bytes | memoryview | None) -> list[Record]:
    """The records of all whole batches; clients ignore a batch that is cut off at the end, and so
    does this function."""
    view = memoryview(data or b"")
    found: list[Record] = []
    for position, header in walk(view):
        if position + header.size_bytes <= len(view):
            found += open_batch(view[position : position + header.size_bytes])
    return found


def produce_request(topic: str, partition: int, batch: bytes | bytearray | None, *, acks: int = 1) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=None,
        acks=acks,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)])],
    )


def fetch_request(
    partitions: Sequence[tuple[str, int, int]],
    *,
    min_bytes: int = 0,
    max_wait_ms: int = 0,
    max_bytes: int = 1 << 26,
    partition_max_bytes: int = 1 << 24,
    session_id: int = 0,
    session_epoch: int = -1,
    isolation_level: int = 0,
) -> FetchRequest:
    """``partitions`` are (topic, partition, offset)."""
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[
            FetchTopic(
                topic=topic,
                partitions=[FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes)],
            )
            for topic, partition, offset in partitions
        ],
        forgotten_topics_data=[],
    )
