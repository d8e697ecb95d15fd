"""One notation of a cluster's client settings for two clients: Java's inside Spark, and librdkafka
in our own process.

Settings may have Java's names or librdkafka's, in the ``kafka`` of a pipeline or in a file of
client settings. Each client gets those that it knows, under its own names
(:mod:`barnabas.client_settings`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.client_settings.bearer_token import for_librdkafka_client
from barnabas.client_settings.client_file import read_client_file
from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.fetched_values import with_fetched_values
from barnabas.client_settings.java_names import for_librdkafka as with_names_of_librdkafka
from barnabas.client_settings.librdkafka_names import for_java
from barnabas.client_settings.secrets import SECRET_NAMES
from barnabas.pipelines.errors import CannotRun

ADDRESSES = "bootstrap.servers"
# Settings that decide how a client connects. librdkafka knows all of these once they have its
# names.
_OF_SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.")
# The other settings that both clients know; librdkafka refuses to start with unknown names.
_SHARED = frozenset({"client.id", "client.rack", "message.max.bytes", "request.timeout.ms", "socket.connection.setup.timeout.ms"})
_ANSWER_MS_MAX = 10_000
# When a broker dies, Java's admin client may wait for that broker until its time is up, although it
# knows of the new leaders; by default that is a minute, in which a pipeline stands still. Spark
# then asks again with a new client: for three minutes in all, as with the defaults. The consumers
# of tasks have the same limit, and a pipeline fails when it is over. So it is longer than an
# election that must wait for a session of nine seconds, also on a busy machine.
_CALL_MS_MAX = 30_000
_REQUEST_TIMEOUT, _API_TIMEOUT = "request.timeout.ms", "default.api.timeout.ms"
_ATTEMPTS_MS = 180_000
# Spark shows its settings and the options of sources and sinks in plans, in its UI and in its event
# log. By default it hides some of our secrets there, but not a private key in the settings.
REDACTION = {
    "spark.redaction.regex": SECRET_NAMES,
    "spark.sql.redaction.options.regex": f"{SECRET_NAMES}|url",
}


class ClusterAddress(NamedTuple):
    """The part of a declared pipeline that other tools have too: the addresses of a cluster and the
    client settings."""

    bootstrap: str
    kafka: Mapping[str, str]

    def __repr__(self) -> str:
        return f"ClusterAddress(bootstrap={self.bootstrap!r})"


_silence = logging.getLogger("barnabas.pipelines.librdkafka")
_silence.addHandler(logging.NullHandler())
_silence.propagate = False


def for_spark(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, str]:
    """Options of Spark's connector, which passes on those that start with ``kafka.``."""
    try:
        java = for_java(kafka)
    except SettingsRefused as refused:
        raise CannotRun(str(refused)) from refused
    java = {**_patience(java), **java, ADDRESSES: bootstrap}
    return {"fetchOffset.numRetries": str(_ATTEMPTS_MS // _CALL_MS_MAX), **{f"kafka.{name}": value for name, value in java.items()}}


def _patience(java: Mapping[str, str]) -> dict[str, str]:
    """Java refuses a request that may take longer than the call that it belongs to."""
    request = java.get(_REQUEST_TIMEOUT, str(_ANSWER_MS_MAX))
    if not request.isdecimal():
        return {}  # Java says what is wrong with it
    return {_REQUEST_TIMEOUT: request, _API_TIMEOUT: str(max(int(request), _CALL_MS_MAX))}


def for_librdkafka(bootstrap: str, kafka: Mapping[str, str]) -> dict[str, Any]:
    """Configuration of a confluent-kafka client. Its log is dropped: its errors are returned by
    calls as well."""
    try:
        named = with_names_of_librdkafka(kafka).properties
        own = for_librdkafka_client({name: value for name, value in named.items() if name in _SHARED or name.startswith(_OF_SECURITY)})
    except SettingsRefused as refused:
        raise CannotRun(str(refused)) from refused
    return {**own, ADDRESSES: bootstrap, "logger": _silence}


def read_settings(path: str) -> dict[str, str]:
    """The settings of a client file. Raises ``CannotRun``."""
    try:
        return with_fetched_values(read_client_file(Path(path)))
    except SettingsRefused as refused:
        raise CannotRun(str(refused)) from refused


def replaced_by(kafka: Mapping[str, str], file: Mapping[str, str]) -> dict[str, str]:
    """The settings of a file before those of a pipeline. If the file says how to connect, it says
    all of it: half of one login and half of another would be neither."""
    has_security = any(name.startswith(_OF_SECURITY) for name in file)
    kept = {name: value for name, value in kafka.items() if not (has_security and name.startswith(_OF_SECURITY))}
    return {**kept, **{name: value for name, value in file.items() if name != ADDRESSES}}
