"""Requests of an authentication as frames, and their answers."""

from __future__ import annotations

import struct
from typing import Any

from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decoder, encoder
from barnabas.wire.headers import request_header_version, response_header_version
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest


def request_frame(request: Any, key: ApiKey, version: int, correlation_id: int = 7) -> memoryview:
    """Without its length."""
    out = bytearray(struct.pack(">hhih", key, version, correlation_id, 1) + b"c")
    if request_header_version(type(request), version) == 2:
        out.append(0)
    encoder(type(request), version)(request, out)
    return memoryview(bytes(out))


def versions(version: int = 3) -> memoryview:
    return request_frame(ApiVersionsRequest(client_software_name="c", client_software_version="1"), ApiKey.API_VERSIONS, version)


def handshake(mechanism: str, version: int = 1) -> memoryview:
    return request_frame(SaslHandshakeRequest(mechanism=mechanism), ApiKey.SASL_HANDSHAKE, version)


def token(data: bytes, version: int = 2) -> memoryview:
    return request_frame(SaslAuthenticateRequest(auth_bytes=data), ApiKey.SASL_AUTHENTICATE, version)


def answer(frame: bytes | bytearray | None, key: ApiKey, version: int) -> Any:
    assert frame is not None
    response = messages(key)[1]
    position = 8 + response_header_version(response, version)
    return decoder(response, version)(memoryview(frame), position)[0]
