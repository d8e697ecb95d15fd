"""The first record that a starting server acknowledges, measured over a raw socket.

A client library would add its own retries to the time. Both requests are encoded beforehand, and
everything is retried until it succeeds: a server that opens its port before it can serve gains
nothing.
"""

from __future__ import annotations

import socket
import time

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from bench.measurement import MeasurementFailed
from bench.requests import ask_encoded, encode_request
from bench.systems import START_SECONDS_MAX, Server

TOPIC = "first"
TRY_AGAIN_SECONDS = 0.001
# The last versions before the flexible ones: their headers are plain, and both servers have them.
_CREATE_TOPICS_VERSION = 4
_PRODUCE_VERSION = 8


def await_first_record(server: Server) -> float:
    """The time of the acknowledgement, by ``time.perf_counter``."""
    create, produce = _create_topic_request(), _produce_request()
    deadline = time.perf_counter() + START_SECONDS_MAX
    last_trouble = "no connection"
    while time.perf_counter() < deadline:
        server.check_alive()
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=START_SECONDS_MAX) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                created = ask_encoded(connection, create, CreateTopicsRequest, _CREATE_TOPICS_VERSION).topics[0].error_code
                while created in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS) and time.perf_counter() < deadline:
                    answer = ask_encoded(connection, produce, ProduceRequest, _PRODUCE_VERSION)
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
    return encode_request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), _CREATE_TOPICS_VERSION)


def _produce_request() -> bytes:
    batch = build_batch([Record(offset=0, timestamp=time.time_ns() // 1_000_000, key=None, value=b"first")])
    topic = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])
    return encode_request(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), _PRODUCE_VERSION)
