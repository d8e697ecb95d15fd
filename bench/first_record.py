"""The first record that a starting server acknowledges, over a raw socket: a client library would add its own patience to the time.

Both requests are encoded before they are needed, and everything is tried again until it succeeds: a server that opens its port early and
cannot serve yet gains nothing by it.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import decoder, encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import RequestHeader
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from bench.measurement import MeasurementFailed
from bench.systems import START_SECONDS_MAX, Server

TOPIC = "first"
TRY_AGAIN_SECONDS = 0.001
# The last versions before flexible ones: their headers are plain, and both servers speak them.
_CREATE_TOPICS_VERSION = 4
_PRODUCE_VERSION = 8
_HEADER_VERSION = 1
_CORRELATION_ID_BYTES = 4


def await_first_record(server: Server) -> float:
    """When it was acknowledged, as ``time.perf_counter`` tells it."""
    create, produce = _create_topic_request(), _produce_request()
    deadline = time.perf_counter() + START_SECONDS_MAX
    last_trouble = "no connection"
    while time.perf_counter() < deadline:
        server.check_alive()
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=START_SECONDS_MAX) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                created = _ask(connection, create, CreateTopicsResponse, _CREATE_TOPICS_VERSION).topics[0].error_code
                while created in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS) and time.perf_counter() < deadline:
                    answer = _ask(connection, produce, ProduceResponse, _PRODUCE_VERSION)
                    error = answer.responses[0].partition_responses[0].error_code
                    if error == ErrorCode.NONE:
                        return time.perf_counter()
                    last_trouble = f"produce was answered with error code {error}"
                    time.sleep(TRY_AGAIN_SECONDS)
                last_trouble = f"creating a topic was answered with error code {created}"
        except OSError as error:
            last_trouble = str(error)
        time.sleep(TRY_AGAIN_SECONDS)
    raise MeasurementFailed(f"no record was acknowledged within {START_SECONDS_MAX:g} s: {last_trouble}")


def _create_topic_request() -> bytes:
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    return _request(ApiKey.CREATE_TOPICS, _CREATE_TOPICS_VERSION, CreateTopicsRequest(topics=[topic], timeout_ms=10_000))


def _produce_request() -> bytes:
    batch = build_batch([Record(offset=0, timestamp=time.time_ns() // 1_000_000, key=None, value=b"first")])
    topic = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])
    return _request(ApiKey.PRODUCE, _PRODUCE_VERSION, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]))


def _request(key: ApiKey, version: int, body: Any) -> bytes:
    out = OutFrame(4)
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=1, client_id="bench")
    encoder(RequestHeader, _HEADER_VERSION)(header, out)
    encoder(type(body), version)(body, out)
    out.seal()
    return bytes(out)


def _ask(connection: socket.socket, request: bytes, response: type[Any], version: int) -> Any:
    connection.sendall(request)
    (size,) = struct.unpack(">i", _receive(connection, 4))
    return decoder(response, version)(memoryview(_receive(connection, size)), _CORRELATION_ID_BYTES)[0]


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the server closed the connection")
        received += part
    return received
