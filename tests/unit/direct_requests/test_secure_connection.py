"""The login of SCRAM, with the exchange that RFC 7677 prints, and against servers that lie."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from barnabas.client_settings.delegation_token import BY_TOKEN
from barnabas.direct_requests.errors import RequestRefused
from barnabas.direct_requests.secure_connection import is_supported, log_in
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

LOGIN = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": "user",
    "sasl.password": "pencil",
}
NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
VERDICT = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


class Server:
    """Answers with the given messages, and keeps those that it got."""

    def __init__(self, *answers: bytes, mechanisms: tuple[str, ...] = ("SCRAM-SHA-256",)) -> None:
        self.answers = list(answers)
        self.mechanisms = mechanisms
        self.received: list[bytes] = []

    def __call__(self, request: Any, version: int) -> Any:
        if isinstance(request, SaslHandshakeRequest):
            known = request.mechanism in self.mechanisms
            code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=list(self.mechanisms))
        assert isinstance(request, SaslAuthenticateRequest)
        self.received.append(bytes(request.auth_bytes))
        return SaslAuthenticateResponse(error_code=ErrorCode.NONE, error_message=None, auth_bytes=self.answers.pop(0))


@pytest.fixture(autouse=True)
def nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: NONCE)


def test_the_exchange_of_rfc_7677_is_reproduced() -> None:
    server = Server(CHALLENGE, VERDICT)
    log_in(server, "b:1", LOGIN)
    assert server.received == [
        b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ]


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    with pytest.raises(RequestRefused, match=r"b:1 is not the broker that it claims to be: the server does not know the password either\."):
        log_in(Server(CHALLENGE, b"v=" + b"A" * 43 + b"="), "b:1", LOGIN)


@pytest.mark.parametrize("challenge", [b"", b"r=other,s=W22Z,i=4096", CHALLENGE.replace(b"4096", b"1"), CHALLENGE.replace(b"4096", b"x")])
def test_a_challenge_that_breaks_the_rules_is_refused(challenge: bytes) -> None:
    with pytest.raises(RequestRefused, match=r"b:1 is not the broker that it claims to be: the server"):
        log_in(Server(challenge), "b:1", LOGIN)


def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are() -> None:
    with pytest.raises(RequestRefused, match=r"b:1 does not offer the login SCRAM-SHA-256; it offers PLAIN\."):
        log_in(Server(mechanisms=("PLAIN",)), "b:1", LOGIN)


def test_commas_and_equal_signs_in_a_name_are_escaped() -> None:
    server = Server(b"")
    with pytest.raises(RequestRefused):
        log_in(server, "b:1", {**LOGIN, "sasl.username": "a,b=c"})
    assert server.received == [b"n,,n=a=2Cb=3Dc,r=rOprNGfwEbeRWgbNEkqO"]


def test_the_ways_that_only_librdkafka_has_are_not_supported() -> None:
    assert is_supported({})
    assert is_supported({"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"})
    assert is_supported(LOGIN)
    assert is_supported({"security.protocol": "ssl", "ssl.keystore.location": "/k.p12"})
    assert is_supported({"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token": "t"})
    assert not is_supported({"security.protocol": "ssl", "ssl.engine.location": "/engine.so"})
    assert not is_supported({"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"})
    endpoint = {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://p/token"}
    assert is_supported(endpoint)
    assert not is_supported(endpoint | {"sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"})
    assert is_supported({"security.protocol": "sasl_plaintext"}) == (find_spec("gssapi") is not None)


def test_a_login_by_token_says_so_in_its_first_message() -> None:
    server = Server(b"")
    with pytest.raises(RequestRefused):
        log_in(server, "b:1", {**LOGIN, BY_TOKEN: "true"})
    assert server.received == [b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO,tokenauth=true"]
