"""The APIs of Kafka that a server announces, asked with ApiVersions."""

from __future__ import annotations

import socket

from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from bench.requests import ask
from bench.systems import Server

ASK_SECONDS_MAX = 10.0
# The version that every server has.
_API_VERSIONS_VERSION = 0


def announced(server: Server) -> frozenset[int]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=ASK_SECONDS_MAX) as connection:
        return frozenset(each.api_key for each in ask(connection, ApiVersionsRequest(), _API_VERSIONS_VERSION).api_keys)


def missing(wanted: frozenset[int], found: frozenset[int]) -> list[str]:
    """The names of APIs, as Kafka writes them."""
    return [_name(key) for key in sorted(wanted - found)]


def _name(key: int) -> str:
    return "".join(word.capitalize() for word in ApiKey(key).name.split("_"))
