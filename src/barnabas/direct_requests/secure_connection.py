"""TLS and logins for requests of our own, by the properties that librdkafka takes.

Supported are TLS with certificates and keys in PEM or PKCS12, and the mechanisms of
:mod:`~.logins`. Keys that an OpenSSL engine holds are left to librdkafka; :func:`is_supported`
tells the two apart.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from barnabas.config.addresses import host_and_port
from barnabas.direct_requests import logins
from barnabas.direct_requests.errors import RequestRefused
from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.exchange import ServerRefused

_FOR_LIBRDKAFKA_ALONE: Final = ("ssl.engine.location", "ssl.providers")
_HANDSHAKE_VERSION: Final = 1
_AUTHENTICATE_VERSION: Final = 1
# Sends a request in a version, and returns the response.
Exchange = Callable[[Any, int], Any]


def protocol(properties: Mapping[str, str]) -> str:
    return properties.get("security.protocol", "plaintext").lower()


def is_supported(properties: Mapping[str, str]) -> bool:
    match protocol(properties):
        case "plaintext":
            return True
        case "ssl":
            return _tls_is_supported(properties)
        case "sasl_plaintext":
            return logins.is_supported(properties)
        case "sasl_ssl":
            return _tls_is_supported(properties) and logins.is_supported(properties)
        case _:
            return False


def encrypted(connection: socket.socket, host: str, properties: Mapping[str, str]) -> socket.socket:
    """The connection itself if the properties ask for no TLS."""
    if protocol(properties) not in ("ssl", "sasl_ssl"):
        return connection
    from barnabas.direct_requests.client_tls import tls_context

    return tls_context(properties).wrap_socket(connection, server_hostname=host)


def log_in(exchange: Exchange, address: str, properties: Mapping[str, str]) -> None:
    """Raises ``RequestRefused`` when the broker refuses the login, or is not the one that it claims
    to be."""
    if not protocol(properties).startswith("sasl_"):
        return
    from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
    from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

    mechanism = logins.mechanism_of(properties)
    offered: SaslHandshakeResponse = exchange(SaslHandshakeRequest(mechanism=mechanism), _HANDSHAKE_VERSION)
    if offered.error_code != ErrorCode.NONE:
        raise RequestRefused(f"{address} does not offer the login {mechanism}; it offers {', '.join(offered.mechanisms) or 'none'}.")

    def step(message: bytes) -> bytes:
        response: SaslAuthenticateResponse = exchange(SaslAuthenticateRequest(auth_bytes=message), _AUTHENTICATE_VERSION)
        if response.error_code != ErrorCode.NONE:
            reason = (response.error_message or "the login failed").rstrip(".!")
            raise RequestRefused(f"{address} refuses this client: {reason}.")
        return bytes(response.auth_bytes)

    place = host_and_port(address)
    client = logins.client_exchange(properties, place[0] if place is not None else address)
    token: bytes | None = client.first()
    try:
        while token is not None:
            token = client.step(step(token))
    except ServerRefused as refused:
        if mechanism == logins.OAUTHBEARER:
            raise RequestRefused(f"{address} refuses this client: {refused}.") from refused
        raise RequestRefused(f"{address} is not the broker that it claims to be: {refused}.") from refused


def _tls_is_supported(properties: Mapping[str, str]) -> bool:
    return not any(name in properties for name in _FOR_LIBRDKAFKA_ALONE)
