"""A client's request inside a broker's request (KIP-590): the bytes of both directions, for brokers
that wrap and controllers that unwrap.

    EnvelopeRequest.request_data         the client's request: header and body, in its own version
                    request_principal    two bytes of version, then the client's principal
                    client_host_address  4 or 16 bytes
    EnvelopeResponse.response_data       the response: header and body, in the same version

A structure that cannot be read raises :class:`MalformedMessage` or one of the decoders' errors; the
caller decides what follows.
"""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import Any

from barnabas.model.buffers import Buffer
from barnabas.security.principal import Principal
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.embedded.principal import DefaultPrincipalData
from barnabas.wire.headers import request_header_version, response_header_version
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields

# The APIs that a broker may forward in a client's name. It answers all others itself, or sends them
# in its own name.
FORWARDABLE = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)

_HEADER = struct.Struct(">hhi")
_CORRELATION_ID = struct.Struct(">i")
_LENGTH = struct.Struct(">h")
_VERSION = struct.Struct(">h")
_PRINCIPAL_VERSION = 0
CLIENT_ID_BYTES_MAX = 2**15 - 1


def principal_bytes(principal: Principal) -> bytes:
    out = bytearray(_VERSION.pack(_PRINCIPAL_VERSION))
    data = DefaultPrincipalData(type=principal.type, name=principal.name, token_authenticated=principal.token_authenticated)
    encoder(DefaultPrincipalData, _PRINCIPAL_VERSION)(data, out)
    return bytes(out)


def read_principal(data: Buffer) -> Principal:
    if len(data) < _VERSION.size:
        raise MalformedMessage(f"a principal of {len(data)} bytes")
    (version,) = _VERSION.unpack_from(data)
    if version != _PRINCIPAL_VERSION:
        raise MalformedMessage(f"a principal of version {version}")
    read, _ = decode(DefaultPrincipalData, version, data, _VERSION.size)
    return Principal(read.type, read.name, read.token_authenticated)


def read_address(data: Buffer) -> str:
    """Raises ``ValueError`` when the length fits no address family."""
    return str(ip_address(bytes(data)))


def envelope_of(
    request: Any, version: int, *, correlation_id: int, client_id: str | None, principal: Principal, client_host: str
) -> EnvelopeRequest:
    cls = type(request)
    key = declaration_of(cls).key
    assert key is not None
    inside = bytearray(_HEADER.pack(key, version, correlation_id))
    # A client id that is not UTF-8 grows when it is decoded and encoded again, perhaps past the
    # range of its length field.
    name = None if client_id is None else client_id.encode()[:CLIENT_ID_BYTES_MAX]
    inside += _LENGTH.pack(-1 if name is None else len(name))
    inside += name or b""
    if request_header_version(cls, version) == 2:
        inside.append(0)
    encoder(cls, version)(request, inside)
    # A zone ("fe80::1%eth0") means nothing on another machine, so only the address is sent.
    address = ip_address(client_host.partition("%")[0]).packed
    return EnvelopeRequest(request_data=bytes(inside), request_principal=principal_bytes(principal), client_host_address=address)


def response_bytes(response: Any, version: int, correlation_id: int) -> bytes:
    out = bytearray(_CORRELATION_ID.pack(correlation_id))
    if response_header_version(type(response), version) == 1:
        out.append(0)
    encoder(type(response), version)(response, out)
    return bytes(out)


def read_response(data: Buffer, request: Any, version: int, correlation_id: int) -> Any:
    key = declaration_of(type(request)).key
    assert key is not None
    response = messages(ApiKey(key))[1]
    if len(data) < _CORRELATION_ID.size or _CORRELATION_ID.unpack_from(data)[0] != correlation_id:
        raise MalformedMessage("the response in an envelope belongs to another request")
    position = _CORRELATION_ID.size
    if response_header_version(response, version) == 1:
        position = skip_tagged_fields(data, position, len(data))
    return decode(response, version, data, position)[0]
