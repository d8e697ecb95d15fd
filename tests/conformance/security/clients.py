"""One record in and out with each client, by its own code for each mechanism."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AioTokenProvider
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer, TopicPartition as KafkaPythonPartition
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokenProvider

from peers.kerberos import SERVICE
from tests.conformance.clients.kafka_tools import Tools
from tests.conformance.security.nodes import PASSWORD, USER, SecureNode, java_properties
from tests.waiting import PATIENCE_SECONDS

RoundTrip = Callable[[SecureNode, str, str, bytes], bytes | None]


def librdkafka(node: SecureNode, mechanism: str, topic: str, value: bytes) -> bytes | None:
    settings: dict[str, Any] = {
        "bootstrap.servers": node.bootstrap,
        "security.protocol": node.protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(node.trusted),
        "log_level": 0,
    }
    if mechanism == "OAUTHBEARER":
        settings["oauth_cb"] = lambda _: (node.provider.token(), time.time() + 3600)
    producer = Producer(settings)
    producer.produce(topic, value)
    assert producer.flush(PATIENCE_SECONDS) == 0
    consumer = Consumer({**settings, "group.id": "g", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(PATIENCE_SECONDS)
        return None if message is None else message.value()
    finally:
        consumer.close()


class _KafkaPythonTokens(KafkaPythonTokenProvider):  # type: ignore[misc]
    def __init__(self, node: SecureNode) -> None:
        self._node = node

    def token(self) -> str:
        return self._node.provider.token()

    def extensions(self) -> dict[str, str]:
        return {"traceId": "7"}


def kafka_python(node: SecureNode, mechanism: str, topic: str, value: bytes) -> bytes | None:
    settings: dict[str, Any] = {
        "bootstrap_servers": node.bootstrap,
        "security_protocol": node.protocol,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": USER,
        "sasl_plain_password": PASSWORD,
        "ssl_cafile": str(node.trusted),
        "sasl_kerberos_service_name": SERVICE,
        "sasl_oauth_token_provider": _KafkaPythonTokens(node),
    }
    producer = KafkaProducer(**settings)
    try:
        producer.send(topic, value).get(PATIENCE_SECONDS)
    finally:
        producer.close()
    consumer = KafkaConsumer(group_id=None, consumer_timeout_ms=PATIENCE_SECONDS * 1000, **settings)
    try:
        assigned = KafkaPythonPartition(topic, 0)
        consumer.assign([assigned])
        consumer.seek(assigned, 0)
        found: bytes = next(consumer).value
        return found
    finally:
        consumer.close()


class _AioTokens(AioTokenProvider):  # type: ignore[misc]
    def __init__(self, node: SecureNode) -> None:
        self._node = node

    async def token(self) -> str:
        return self._node.provider.token()


def aiokafka(node: SecureNode, mechanism: str, topic: str, value: bytes) -> bytes | None:
    async def run() -> bytes:
        settings: dict[str, Any] = {
            "bootstrap_servers": node.bootstrap,
            "security_protocol": node.protocol,
            "sasl_mechanism": mechanism,
            "sasl_plain_username": USER,
            "sasl_plain_password": PASSWORD,
            "ssl_context": ssl.create_default_context(cafile=str(node.trusted)),
            "sasl_kerberos_service_name": SERVICE,
            "sasl_oauth_token_provider": _AioTokens(node) if mechanism == "OAUTHBEARER" else None,
        }
        producer = AIOKafkaProducer(**settings)
        await producer.start()
        try:
            await producer.send_and_wait(topic, value)
        finally:
            await producer.stop()
        consumer = AIOKafkaConsumer(topic, group_id=None, auto_offset_reset="earliest", **settings)
        await consumer.start()
        try:
            found: bytes = (await consumer.getone()).value
            return found
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(run(), 2 * PATIENCE_SECONDS))


def java(tools: Tools, directory: Path) -> RoundTrip:
    def round_trip(node: SecureNode, mechanism: str, topic: str, value: bytes) -> bytes | None:
        file = directory / f"{node.protocol}-{mechanism}.properties"
        file.write_text("".join(f"{name}={text}\n" for name, text in java_properties(node, mechanism).items()))
        common = ("--bootstrap-server", node.bootstrap, "--topic", topic, "--command-config", file)
        tools.run("org.apache.kafka.tools.ConsoleProducer", *common, stdin=value.decode() + "\n")
        consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        timeout = ("--timeout-ms", str(int(PATIENCE_SECONDS * 1000)))
        return tools.run(consumer, *common, "--from-beginning", "--max-messages", "1", *timeout).strip().encode()

    return round_trip


CLIENTS: dict[str, RoundTrip] = {"librdkafka": librdkafka, "kafka-python": kafka_python, "aiokafka": aiokafka}
