"""The login of the test's own client at a secured cluster."""

from __future__ import annotations

import socket

from barnabas.security.sasl.plain import PlainClient
from barnabas.testing.client.exchange import exchange
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

_HANDSHAKE_VERSION = 1
_AUTHENTICATE_VERSION = 1


def log_in_with_plain(connection: socket.socket, user: str, password: str) -> None:
    """Raises ``ConnectionError`` when the broker refuses the login."""
    offered = exchange(connection, SaslHandshakeRequest(mechanism="PLAIN"), ApiKey.SASL_HANDSHAKE, _HANDSHAKE_VERSION)
    if offered.error_code:
        raise ConnectionError(f"the broker does not offer PLAIN; it offers {', '.join(offered.mechanisms) or 'no login'}")
    request = SaslAuthenticateRequest(auth_bytes=PlainClient(user, password).first())
    response = exchange(connection, request, ApiKey.SASL_AUTHENTICATE, _AUTHENTICATE_VERSION)
    if response.error_code:
        raise ConnectionError(f"the broker refuses the login: {response.error_message}")
