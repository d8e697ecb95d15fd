"""One way to say how a cluster is spoken to, for two clients: Java's inside Spark, and librdkafka's in our own process.

A file says it with librdkafka's simple names, which can all be said in Java's: ``security.protocol``, ``sasl.mechanism``,
``sasl.username``, ``sasl.password``, ``ssl.ca.location``. Java's other names (``max.poll.records``) go to Spark alone, unless librdkafka
knows them too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
# What librdkafka understands of what a file may say; it refuses to start with names it does not know.
_SHARED = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.username",
        "sasl.password",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
        "client.id",
        "client.rack",
        "message.max.bytes",
        "request.timeout.ms",
        "socket.connection.setup.timeout.ms",
    }
)
_NOT_JAVAS = frozenset({"sasl.username", "sasl.password", "ssl.ca.location", "ssl.certificate.location", "ssl.key.location"})


class ClusterAddress(NamedTuple):
    """What a declared pipeline also has: where a cluster is and how to talk to it."""

    bootstrap: str
    kafka: Mapping[str, str]


_silence = logging.getLogger("barnabas.pipelines.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


def for_spark(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, str]:
    """Options of Spark's connector, which hands on what begins with ``kafka.``."""
    java = {name: value for name, value in kafka.items() if name not in _NOT_JAVAS}
    mechanism = kafka.get("sasl.mechanism", "")
    if "sasl.username" in kafka and "sasl.jaas.config" not in kafka:
        module = _LOGIN_MODULES.get(mechanism.upper(), _LOGIN_MODULES["PLAIN"])
        user, password = (_escaped(kafka.get(name, "")) for name in ("sasl.username", "sasl.password"))
        java["sasl.jaas.config"] = f'{module} required username="{user}" password="{password}";'
    if "ssl.ca.location" in kafka and "ssl.truststore.location" not in kafka:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": kafka["ssl.ca.location"]}
    return {"kafka.bootstrap.servers": bootstrap, **{f"kafka.{name}": value for name, value in java.items()}}


def for_librdkafka(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, Any]:
    """Configuration of a confluent-kafka client. What it logs is dropped: it comes back as errors of calls as well."""
    shared = {name: value for name, value in kafka.items() if name in _SHARED}
    if shared.get("ssl.endpoint.identification.algorithm") == "":
        shared["ssl.endpoint.identification.algorithm"] = "none"
    return {**shared, "bootstrap.servers": bootstrap, "logger": _silence}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
