"""Request and response headers, coded by hand because every request passes here.

The request header is version 1, or version 2 (with tagged fields) for flexible requests; its client
id is an old-style nullable string in both. The response header is version 0, or 1 for flexible
responses. The exception is ApiVersions, whose response header is always version 0: its client does
not yet know which versions the broker supports.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.wire.apis import ApiKey
from barnabas.wire.declare import declaration_of, field, message
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.types import Int16, Int32, String

_FIXED = struct.Struct(">hhih")
REQUEST_HEADER_BYTES_MIN = _FIXED.size


@message("header", key=None, versions="1-2", flexible="2+")
class RequestHeader:
    request_api_key: Int16 = field()
    request_api_version: Int16 = field()
    correlation_id: Int32 = field()
    client_id: String | None = field("1+", nullable="1+", default="", flexible=False)


@message("header", key=None, versions="0-1", flexible="1+")
class ResponseHeader:
    correlation_id: Int32 = field()


class RequestPrefix(NamedTuple):
    """The part of a request header that can be read before its version is known, and the position
    after it.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    position: int


def read_request_prefix(frame: Buffer) -> RequestPrefix:
    """Raises ``MalformedMessage`` when the frame is too short for a request header."""
    try:
        api_key, api_version, correlation_id, length = _FIXED.unpack_from(frame)
    except struct.error as error:
        raise MalformedMessage(f"{len(frame)} bytes are too few for a request header") from error
    if length < 0:
        return RequestPrefix(api_key, api_version, correlation_id, None, 10)
    position = 10 + length
    if position > len(frame):
        raise MalformedMessage(f"client id of {length} bytes in a frame of {len(frame)}")
    # Some clients send a name in another encoding. As in Kafka, the name is mangled and the request
    # is served.
    return RequestPrefix(api_key, api_version, correlation_id, str(frame[10:position], "utf-8", "replace"), position)


def request_header_version(request: type, version: int) -> int:
    return 2 if version in declaration_of(request).flexible else 1


def response_header_version(response: type, version: int) -> int:
    declaration = declaration_of(response)
    if declaration.key == ApiKey.API_VERSIONS:
        return 0
    return 1 if version in declaration.flexible else 0
