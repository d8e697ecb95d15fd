"""One notation of a cluster's client settings for two clients: Java's inside Spark, and librdkafka
in our own process.

A file uses librdkafka's simple names, which all have an equivalent in Java: ``security.protocol``,
``sasl.mechanism``, ``sasl.username``, ``sasl.password``, ``ssl.ca.location``. Java's other names
(``max.poll.records``) go to Spark alone, unless librdkafka knows them too.
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
# The names of a file that librdkafka understands; it refuses to start with unknown names.
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
    """The part of a declared pipeline that other tools have too: the addresses of a cluster and the
    client settings."""

    bootstrap: str
    kafka: Mapping[str, str]


_silence = logging.getLogger("barnabas.pipelines.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


def for_spark(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, str]:
    """Options of Spark's connector, which passes on those that start with ``kafka.``."""
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
    """Configuration of a confluent-kafka client. Its log is dropped: its errors are returned by
    calls as well."""
    shared = {name: value for name, value in kafka.items() if name in _SHARED}
    if shared.get("ssl.endpoint.identification.algorithm") == "":
        shared["ssl.endpoint.identification.algorithm"] = "none"
    return {**shared, "bootstrap.servers": bootstrap, "logger": _silence}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
