"""Raw clients that have logged in with PLAIN, on a broker with an authorizer."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.scenarios.client import Client
from tests.scenarios.security.sasl import sasl_listeners

# The users of tests.scenarios.security.sasl and their passwords.
PASSWORDS = {"admin": "admins", "alice": "wonder"}

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}


def with_authorizer(**more: str) -> dict[str, str]:
    return sasl_listeners() | AUTHORIZER | more


def log_in(kafka: EmbeddedBroker, user: str) -> Client:
    return log_in_at(kafka.bootstrap, user)


def log_in_at(address: str, user: str) -> Client:
    client = Client(address)
    assert client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == ErrorCode.NONE
    token = b"\x00".join((b"", user.encode(), PASSWORDS[user].encode()))
    assert client.ask(SaslAuthenticateRequest(auth_bytes=token), 2).error_code == ErrorCode.NONE
    return client
