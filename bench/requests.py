"""Single requests over raw sockets; a client library would add its own retries to the time."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decoder, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import RequestHeader, request_header_version, response_header_version
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from bench.measurement import MeasurementFailed
from bench.systems import Server

# A connection has one request at a time, so all requests may have the same id.
CORRELATION_ID = 1
LENGTH_BYTES = 4
COORDINATOR_SECONDS_MAX = 30.0
TRY_AGAIN_SECONDS = 0.02
_FIND_COORDINATOR_VERSION = 4
_HEARTBEAT_VERSION = 4
_CORRELATION_ID_BYTES = 4


def encode_request(request: Any, version: int) -> bytes:
    """The request with its length and its header."""
    out = OutFrame(LENGTH_BYTES)
    key = declaration_of(type(request)).key
    assert key is not None, "a request has a key"
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=CORRELATION_ID, client_id="bench")
    encoder(RequestHeader, request_header_version(type(request), version))(header, out)
    encoder(type(request), version)(request, out)
    out.seal()
    return bytes(out)


def decode_response(request: type, version: int, frame: bytes) -> Any:
    """The response to ``request``; ``frame`` is without its length."""
    declared = declaration_of(request).key
    assert declared is not None, "a request has a key"
    _, response = messages(ApiKey(declared))
    # Neither server sends tagged fields in the header, so they take one byte.
    header_bytes = _CORRELATION_ID_BYTES + response_header_version(response, version)
    return decoder(response, version)(memoryview(frame), header_bytes)[0]


def ask(connection: socket.socket, request: Any, version: int) -> Any:
    return ask_encoded(connection, encode_request(request, version), type(request), version)


def ask_encoded(connection: socket.socket, encoded: bytes, request: type, version: int) -> Any:
    connection.sendall(encoded)
    (size,) = struct.unpack(">i", _receive(connection, LENGTH_BYTES))
    return decode_response(request, version, _receive(connection, size))


def await_group_coordinator(server: Server, group: str) -> None:
    """Waits until the coordinator serves the group.

    The server creates the topic of groups at the first FindCoordinator, and then the coordinator
    must load it.
    """
    deadline = time.monotonic() + COORDINATOR_SECONDS_MAX
    stranger = HeartbeatRequest(group_id=group, generation_id=0, member_id="nobody")
    with socket.create_connection(("127.0.0.1", server.port), timeout=COORDINATOR_SECONDS_MAX) as connection:
        while time.monotonic() < deadline:
            found = ask(connection, FindCoordinatorRequest(coordinator_keys=[group]), _FIND_COORDINATOR_VERSION).coordinators[0]
            # A coordinator that has loaded its groups refuses a member that it does not know.
            known = found.error_code == ErrorCode.NONE and ask(connection, stranger, _HEARTBEAT_VERSION).error_code
            if known == ErrorCode.UNKNOWN_MEMBER_ID:
                return
            time.sleep(TRY_AGAIN_SECONDS)
    raise MeasurementFailed(f"group {group} had no coordinator within {COORDINATOR_SECONDS_MAX:g} s")


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the server closed the connection")
        received += part
    return received
