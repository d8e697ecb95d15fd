"""One request to one broker, for the few requests that librdkafka does not support.

librdkafka alters the settings of topics, brokers and groups. It cannot name the defaults of all
brokers, a broker's loggers and the subscriptions to client metrics: it refuses an empty resource
name and knows only three of Kafka's resource types. These requests go through this module, with the
messages that the node itself is built from.

This is not a client: there are no retries, no metadata and no records. Connections are plain or as
:mod:`~.secure_connection` makes them; it refuses with a sentence when the client's properties ask
for more.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any

from barnabas.cli.errors import Refused
from barnabas.config.addresses import host_and_port
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.tagged_fields import MalformedMessage

_LENGTH = struct.Struct(">i")
# The settings of one resource need a few hundredths of this.
_RESPONSE_BYTES_MAX = 16 * 1024 * 1024
# Every broker since 0.10 answers this version.
_API_VERSIONS_VERSION = 0


def may_ask(properties: Mapping[str, str]) -> bool:
    return "security.protocol" not in properties or _may_secure(properties)


def _may_secure(properties: Mapping[str, str]) -> bool:
    from barnabas.cli.cluster.secure_connection import is_supported

    return is_supported(properties)


def ask(address: str, properties: Mapping[str, str], request: Any, *, seconds_max: float, version_max: int | None = None) -> Any:
    """The response to ``request``, in the newest version that both sides speak. Raises ``Refused``
    with the reason when there is none.

    ``version_max`` is for requests whose newer versions have other fields, such as those that name
    topics by their ids."""
    if not may_ask(properties):
        raise Refused(
            "This request logs in with PLAIN, SCRAM, or a token for OAUTHBEARER that the client has, "
            "but the client's properties ask for another way."
        )
    place = host_and_port(address)
    assert place is not None, f"{address!r} was checked before"
    try:
        with _connected(place, address, properties, seconds_max) as connection:
            version = _newest_version(connection, _key_of(request), address, version_max)
            return _exchange(connection, request, version)
    except TimeoutError as error:
        raise Refused(f"No answer from {address} within {seconds_max:g} seconds.") from error
    except OSError as error:
        raise Refused(_sentence(address, properties, error)) from error
    except MalformedMessage as error:
        raise Refused(f"The response of {address} is not Kafka's protocol: {error}.") from error


def _connected(place: tuple[str, int], address: str, properties: Mapping[str, str], seconds_max: float) -> socket.socket:
    connection = socket.create_connection(place, timeout=seconds_max)
    if "security.protocol" not in properties:
        return connection
    from barnabas.cli.cluster.secure_connection import encrypted, log_in

    try:
        connection = encrypted(connection, place[0], properties)
        log_in(lambda request, version: _exchange(connection, request, version), address, properties)
    except BaseException:
        connection.close()
        raise
    return connection


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


def error_words(code: int) -> str:
    """The name of an error code; the number of a code that this release does not know."""
    return ErrorCode(code).name.lower().replace("_", " ") if code in ErrorCode._value2member_map_ else f"error {code}"


def _key_of(request: Any) -> ApiKey:
    key = declaration_of(type(request)).key
    assert key is not None
    return ApiKey(key)


def _newest_version(connection: socket.socket, key: ApiKey, address: str, version_max: int | None) -> int:
    response: ApiVersionsResponse = _exchange(connection, ApiVersionsRequest(), _API_VERSIONS_VERSION)
    ours = stable_versions(key)
    highest = ours.highest if version_max is None else min(ours.highest, version_max)
    for theirs in response.api_keys:
        if theirs.api_key == key and theirs.max_version >= ours.lowest and theirs.min_version <= highest:
            return min(theirs.max_version, highest)
    raise Refused(f"The broker at {address} does not support {key.api_name}.")


def _exchange(connection: socket.socket, request: Any, version: int) -> Any:
    key = _key_of(request)
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=version, client_id="barnabas-cli")
    frame = encode(header, request_header_version(type(request), version)) + encode(request, version)
    connection.sendall(_LENGTH.pack(len(frame)) + frame)
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
    if not 0 < length <= _RESPONSE_BYTES_MAX:
        raise MalformedMessage(f"a response of {length} bytes")
    answer = _receive(connection, length)
    response = messages(key)[1]
    _, position = decode(ResponseHeader, response_header_version(response, version), answer)
    return decode(response, version, answer, position)[0]


def _receive(connection: socket.socket, size_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < size_bytes:
        part = connection.recv(size_bytes - len(data))
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
    return bytes(data)
