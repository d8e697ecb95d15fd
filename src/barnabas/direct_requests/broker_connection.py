"""A connection to one broker, with the messages that the node itself is built from.

Requests run one after the other, each in the newest version that both sides speak.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from barnabas.config.addresses import host_and_port
from barnabas.direct_requests.errors import RequestRefused
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.tagged_fields import MalformedMessage

_LENGTH = struct.Struct(">i")
# The settings of one resource need a few hundredths of this. A reader of records allows more.
RESPONSE_BYTES_MAX = 16 * 1024 * 1024
# Every broker since 0.10 answers this version.
_API_VERSIONS_VERSION = 0


def may_connect(properties: Mapping[str, str]) -> bool:
    """Whether these properties ask for TLS and logins that this package supports."""
    if "security.protocol" not in properties:
        return True
    from barnabas.direct_requests.secure_connection import is_supported

    return is_supported(properties)


class BrokerConnection:
    def __init__(
        self,
        address: str,
        properties: Mapping[str, str],
        *,
        seconds_max: float,
        client_id: str = "barnabas",
        response_bytes_max: int = RESPONSE_BYTES_MAX,
    ) -> None:
        """Connects and logs in. ``seconds_max`` bounds each step. Raises RequestRefused."""
        self._address = address
        self._properties = properties
        self._seconds_max = seconds_max
        self._client_id = client_id
        self._response_bytes_max = response_bytes_max
        self._correlation_id = 0
        self._versions: dict[int, tuple[int, int]] | None = None
        if not may_connect(properties):
            raise RequestRefused(
                "This request logs in with PLAIN, SCRAM, OAUTHBEARER with a token or a client's credentials, or GSSAPI with the "
                "extra kerberos, but the client's properties ask for another way."
            )
        place = host_and_port(address)
        if place is None:
            raise RequestRefused(f"{address!r} is no address of a broker, such as localhost:9092.")
        try:
            self._socket = self._connected(place)
        except TimeoutError as error:
            raise RequestRefused(f"No answer from {address} within {seconds_max:g} seconds.") from error
        except OSError as error:
            raise RequestRefused(_sentence(address, properties, error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Any, *, version_max: int | None = None, seconds_max: float | None = None) -> Any:
        """The response. ``version_max`` is for requests whose newer versions have other fields,
        such as those that name topics by their ids. ``seconds_max`` is for a request that the
        broker may hold back."""
        address, limit = self._address, seconds_max if seconds_max is not None else self._seconds_max
        try:
            version = self._newest_version(_key_of(request), version_max)
            self._socket.settimeout(limit)
            return self._exchange(self._socket, request, version)
        except TimeoutError as error:
            raise RequestRefused(f"No answer from {address} within {limit:g} seconds.") from error
        except OSError as error:
            raise RequestRefused(_sentence(address, self._properties, error)) from error
        except MalformedMessage as error:
            raise RequestRefused(f"The response of {address} is not Kafka's protocol: {error}.") from error

    def _connected(self, place: tuple[str, int]) -> socket.socket:
        connection = socket.create_connection(place, timeout=self._seconds_max)
        if "security.protocol" not in self._properties:
            return connection
        from barnabas.direct_requests.secure_connection import encrypted, log_in

        try:
            connection = encrypted(connection, place[0], self._properties)
            log_in(lambda request, version: self._exchange(connection, request, version), self._address, self._properties)
        except BaseException:
            connection.close()
            raise
        return connection

    def _newest_version(self, key: ApiKey, version_max: int | None) -> int:
        if self._versions is None:
            response: ApiVersionsResponse = self._exchange(self._socket, ApiVersionsRequest(), _API_VERSIONS_VERSION)
            self._versions = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
        ours = stable_versions(key)
        highest = ours.highest if version_max is None else min(ours.highest, version_max)
        lowest_theirs, highest_theirs = self._versions.get(key, (0, -1))
        if highest_theirs < ours.lowest or lowest_theirs > highest:
            raise RequestRefused(f"The broker at {self._address} does not support {key.api_name}.")
        return min(highest_theirs, highest)

    def _exchange(self, connection: socket.socket, request: Any, version: int) -> Any:
        key = _key_of(request)
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=key, request_api_version=version, correlation_id=self._correlation_id, client_id=self._client_id
        )
        frame = encode(header, request_header_version(type(request), version)) + encode(request, version)
        connection.sendall(_LENGTH.pack(len(frame)) + frame)
        (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
        if not 0 < length <= self._response_bytes_max:
            raise MalformedMessage(f"a response of {length} bytes")
        answer = _receive(connection, length)
        response = messages(key)[1]
        _, position = decode(ResponseHeader, response_header_version(response, version), answer)
        return decode(response, version, answer, position)[0]


def _sentence(address: str, properties: Mapping[str, str], error: OSError) -> str:
    """The errors of TLS are recognised by their fields, so that plain connections need not load
    it."""
    if (untrusted := getattr(error, "verify_message", None)) is not None:
        return f"The certificate of {address} is refused: {untrusted.rstrip('.')}."
    if (reason := getattr(error, "reason", None)) is not None:
        # The reason for an alert is the other side's: TLSV13_ALERT_CERTIFICATE_REQUIRED.
        side = "refuses this client" if "ALERT" in reason else "does not complete the TLS handshake"
        return f"{address} {side}: {reason.lower().replace('_', ' ').replace('alert ', '')}."
    if isinstance(error, ConnectionError) and not isinstance(error, ConnectionRefusedError):
        has_login = "sasl" in properties.get("security.protocol", "").lower()
        hint = "" if has_login else "; it may expect a login, and security.protocol has none"
        return f"{address} closed the connection{hint}."
    return f"{address} cannot be reached: {error.strerror or error}."


def _key_of(request: Any) -> ApiKey:
    key = declaration_of(type(request)).key
    assert key is not None
    return ApiKey(key)


def _receive(connection: socket.socket, size_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < size_bytes:
        part = connection.recv(size_bytes - len(data))
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
    return bytes(data)
