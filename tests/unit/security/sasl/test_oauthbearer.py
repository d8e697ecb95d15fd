from __future__ import annotations

import pytest

from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Challenge, Failed
from barnabas.security.sasl.oauthbearer import ACKNOWLEDGEMENT, BearerToken, OAuthBearerClient, OAuthBearerServer, TokenRefused


def verify(token: str) -> BearerToken | TokenRefused:
    return BearerToken("alice", 5000) if token == "good" else TokenRefused("the signature is wrong")


def test_a_token_that_is_verified_names_the_principal_and_ends_with_the_token() -> None:
    first = OAuthBearerClient("good", {"traceId": "1 2"}).first()
    assert OAuthBearerServer(verify).step(first) == Authenticated(b"", Principal("User", "alice"), 5000)


def test_a_refused_token_is_acknowledged_before_the_failure() -> None:
    client, server = OAuthBearerClient("bad"), OAuthBearerServer(verify)
    challenge = server.step(client.first())
    assert challenge == Challenge(b'{"status":"invalid_token"}')
    assert client.step(challenge.token) == ACKNOWLEDGEMENT
    failed = server.step(ACKNOWLEDGEMENT)
    assert isinstance(failed, Failed)
    assert failed.reason == "the signature is wrong"
    assert "signature" not in failed.message


@pytest.mark.parametrize(
    "first",
    [
        b"",
        ACKNOWLEDGEMENT,
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Bearer g o\x01\x01",
        b"p,,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Bearer good\x01k1=v\x01\x01",
        b"n,,\x01auth=Bearer good\x01k=\xc3\xa9\x01\x01",
        b"\xff",
    ],
)
def test_a_message_that_is_not_the_mechanisms_fails(first: bytes) -> None:
    assert isinstance(OAuthBearerServer(verify).step(first), Failed)


@pytest.mark.parametrize(("authzid", "outcome"), [("alice", Authenticated), ("bob", Failed)])
def test_an_authorization_id_must_be_the_tokens_name(authzid: str, outcome: type) -> None:
    assert isinstance(OAuthBearerServer(verify).step(f"n,a={authzid},\x01auth=Bearer good\x01\x01".encode()), outcome)
