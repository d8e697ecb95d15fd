"""TLS and logins for requests of our own, by the properties that librdkafka takes.

Supported are TLS with certificates and keys in PEM or PKCS12, and the mechanisms PLAIN,
SCRAM-SHA-256, SCRAM-SHA-512, and OAUTHBEARER with a token that the client has already. Kerberos,
tokens from an endpoint, and keys that an OpenSSL engine holds are left to librdkafka;
:func:`is_supported` tells the two apart.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from barnabas.cli.errors import Refused
from barnabas.client_settings.bearer_token import has_token, read_token
from barnabas.client_settings.errors import SettingsRefused
from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.exchange import ClientExchange, ServerRefused
from barnabas.security.sasl.plain import PlainClient
from barnabas.security.sasl.scram import ScramClient
from barnabas.security.sasl.scram_credentials import ScramMechanism

_SCRAM: Final = {each.title: each for each in ScramMechanism}
_MECHANISMS: Final = frozenset({"PLAIN", *_SCRAM})
_NONCE_BYTES: Final = 24
_OAUTHBEARER: Final = "OAUTHBEARER"
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
            return _login_is_supported(properties)
        case "sasl_ssl":
            return _tls_is_supported(properties) and _login_is_supported(properties)
        case _:
            return False


def encrypted(connection: socket.socket, host: str, properties: Mapping[str, str]) -> socket.socket:
    """The connection itself if the properties ask for no TLS."""
    if protocol(properties) not in ("ssl", "sasl_ssl"):
        return connection
    from barnabas.cli.cluster.client_tls import tls_context

    return tls_context(properties).wrap_socket(connection, server_hostname=host)


def log_in(exchange: Exchange, address: str, properties: Mapping[str, str]) -> None:
    """Raises ``Refused`` when the broker refuses the login, or is not the one that it claims to
    be."""
    if not protocol(properties).startswith("sasl_"):
        return
    from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
    from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

    mechanism = _mechanism(properties)
    offered: SaslHandshakeResponse = exchange(SaslHandshakeRequest(mechanism=mechanism), _HANDSHAKE_VERSION)
    if offered.error_code != ErrorCode.NONE:
        raise Refused(f"{address} does not offer the login {mechanism}; it offers {', '.join(offered.mechanisms) or 'none'}.")

    def step(message: bytes) -> bytes:
        response: SaslAuthenticateResponse = exchange(SaslAuthenticateRequest(auth_bytes=message), _AUTHENTICATE_VERSION)
        if response.error_code != ErrorCode.NONE:
            reason = (response.error_message or "the login failed").rstrip(".!")
            raise Refused(f"{address} refuses this client: {reason}.")
        return bytes(response.auth_bytes)

    client = _client(mechanism, properties)
    token: bytes | None = client.first()
    try:
        while token is not None:
            token = client.step(step(token))
    except ServerRefused as refused:
        if mechanism == _OAUTHBEARER:
            raise Refused(f"{address} refuses this client: {refused}.") from refused
        raise Refused(f"{address} is not the broker that it claims to be: {refused}.") from refused


def _client(mechanism: str, properties: Mapping[str, str]) -> ClientExchange:
    if mechanism == _OAUTHBEARER:
        from barnabas.security.sasl.oauthbearer import OAuthBearerClient

        try:
            return OAuthBearerClient(read_token(properties).text)
        except (SettingsRefused, ValueError) as error:
            raise Refused(str(error)) from error
    user, password = properties.get("sasl.username", ""), properties.get("sasl.password", "")
    if mechanism == "PLAIN":
        return PlainClient(user, password)
    return ScramClient(_SCRAM[mechanism], user, password, secrets.token_urlsafe(_NONCE_BYTES))


def _login_is_supported(properties: Mapping[str, str]) -> bool:
    mechanism = _mechanism(properties)
    return mechanism in _MECHANISMS or (mechanism == _OAUTHBEARER and has_token(properties))


def _tls_is_supported(properties: Mapping[str, str]) -> bool:
    return not any(name in properties for name in _FOR_LIBRDKAFKA_ALONE)


def _mechanism(properties: Mapping[str, str]) -> str:
    return (properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI").upper()
