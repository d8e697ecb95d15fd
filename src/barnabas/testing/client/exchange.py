"""One request and its response on a connection that blocks."""

from __future__ import annotations

import socket
import struct
from typing import Any

from barnabas.testing.faults.node_faults import EXEMPT_PREFIX
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version

_LENGTH = struct.Struct(">i")
# Faults of a test do not affect a client with this name.
_CLIENT_ID = f"{EXEMPT_PREFIX}helpers"


def exchange(connection: socket.socket, request: Any, key: ApiKey, version: int) -> Any:
    """Raises ``OSError`` when the connection ends, or its timeout is over."""
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=version, client_id=_CLIENT_ID)
    frame = encode(header, request_header_version(type(request), version)) + encode(request, version)
    connection.sendall(_LENGTH.pack(len(frame)) + frame)
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
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
