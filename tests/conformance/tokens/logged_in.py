"""A raw client that logs in before its first request."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import Protocol

from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.plain import PlainClient
from barnabas.security.sasl.scram import ScramClient
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.conformance.differential.raw_client import RawClient


class Exchange(Protocol):
    def first(self) -> bytes: ...
    def step(self, token: bytes) -> bytes | None: ...


class LoginRefused(Exception):
    """The server's sentence."""


class LoggedIn(RawClient):
    """``session_lifetime_ms`` is what the server said of the session."""

    def __init__(self, address: str, mechanism: str, exchange: Exchange) -> None:
        super().__init__(address)
        greeting = self.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
        assert greeting.error_code == ErrorCode.NONE, greeting
        token: bytes | None = exchange.first()
        while token is not None:
            answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
            if answer.error_code != ErrorCode.NONE:
                self.close()
                raise LoginRefused(f"{ErrorCode(answer.error_code).name}: {answer.error_message}")
            token = exchange.step(bytes(answer.auth_bytes))
        self.session_lifetime_ms: int = answer.session_lifetime_ms


def with_password(address: str, user: str, password: str) -> LoggedIn:
    return LoggedIn(address, "PLAIN", PlainClient(user, password))


def with_token(address: str, token_id: str, hmac: bytes, mechanism: ScramMechanism = ScramMechanism.SHA_256) -> LoggedIn:
    password = base64.b64encode(hmac).decode()
    return LoggedIn(address, mechanism.title, ScramClient(mechanism, token_id, password, nonce(), by_token=True))


def with_scram(address: str, user: str, password: str, mechanism: ScramMechanism = ScramMechanism.SHA_256) -> LoggedIn:
    return LoggedIn(address, mechanism.title, ScramClient(mechanism, user, password, nonce()))


def nonce() -> str:
    return base64.b64encode(os.urandom(18)).decode()


Connect = Callable[[str], LoggedIn]
