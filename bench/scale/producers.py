"""Many idempotent producers of one partition: their ids, and the state that the partition keeps.

Each producer gets an id and writes one batch of one record. The server is then killed and started
again, and has restored the state of producers when it serves the partition; the CPU of an empty
node's start is subtracted.
"""

from __future__ import annotations

import socket

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from bench.measurement import MeasurementFailed
from bench.requests import ask
from bench.scale.partitions import START_SECONDS_MAX, await_served, create_topics
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import Server, System

ANSWER_SECONDS_MAX = 60.0
TOPIC = "of-producers"
_INIT_VERSION, _PRODUCE_VERSION = 4, 9
_WARM_UP_PRODUCERS = 100
_TIMESTAMP_MS = 1_700_000_000_000
# Producers expire a day after their last record, by its time of arrival.
_SETTINGS = {"log.retention.ms": "-1", "log.message.timestamp.type": "LogAppendTime"}


def measure_producers(system: System, producers: int) -> tuple[float, ...]:
    with system.fresh_server(_SETTINGS) as server:
        server.await_port()
        empty = server.cpu_seconds()
        create_topics(server, [TOPIC], partitions=1)
        await_served(server, TOPIC, partitions=1)
        _produce(server, _ids(server, _WARM_UP_PRODUCERS))
        cpu = server.cpu_seconds()
        ids = _ids(server, producers)
        given, cpu, resident = server.cpu_seconds() - cpu, server.cpu_seconds(), server.resident_bytes()
        _produce(server, ids)
        produced, memory = server.cpu_seconds() - cpu, server.resident_bytes() - resident
        server.kill()
        server.start_again()
        server.await_port(START_SECONDS_MAX)
        await_served(server, TOPIC, partitions=1)
        return given, produced, memory / 1e6, server.cpu_seconds() - empty


def _ids(server: Server, producers: int) -> list[int]:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    ids: list[int] = []
    with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
        while len(ids) < producers:
            answer = ask(connection, request, _INIT_VERSION)
            # Apache Kafka answers so while it waits for the next block of ids.
            if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                continue
            if answer.error_code != ErrorCode.NONE:
                raise MeasurementFailed(f"InitProducerId was answered with {ErrorCode(answer.error_code).name}")
            ids.append(answer.producer_id)
    return ids


def _produce(server: Server, ids: list[int]) -> None:
    record = Record(offset=0, timestamp=_TIMESTAMP_MS, key=None, value=b"first", headers=())
    with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
        for producer_id in ids:
            batch = build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=0)
            data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=bytes(batch))])
            answer = ask(connection, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), _PRODUCE_VERSION)
            code = answer.responses[0].partition_responses[0].error_code
            if code != ErrorCode.NONE:
                raise MeasurementFailed(f"a produce request was answered with {ErrorCode(code).name}")


PRODUCERS = ScaleRow(
    name="producers",
    counted="producers",
    about=__doc__ or "",
    sizes={"barnabas": (1000, 10_000, 100_000), "kafka": (1000, 10_000, 100_000)},
    figures=(
        ScaleFigure("ids given", "s", each="us"),
        ScaleFigure("first records", "s", each="us"),
        ScaleFigure("memory", "MB", each="bytes"),
        ScaleFigure("started after kill -9", "s", each="us"),
    ),
    measure=measure_producers,
)
