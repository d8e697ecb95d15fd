from __future__ import annotations

import pytest

from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Failed
from barnabas.security.sasl.plain import PlainClient, PlainServer, PlainUsers

USERS = PlainUsers({"alice": "wonder", "zoë": "pässword"})


@pytest.mark.parametrize(("user", "password"), [("alice", "wonder"), ("zoë", "pässword")])
def test_a_user_with_its_password_is_let_in(user: str, password: str) -> None:
    assert PlainServer(USERS.check).step(PlainClient(user, password).first()) == Authenticated(b"", Principal("User", user))


@pytest.mark.parametrize(
    "token",
    [
        b"\x00alice\x00wrong",
        b"\x00bob\x00wonder",
        b"\x00bob\x00\x00",
        b"\x00alice\x00",
        b"\x00\x00wonder",
        b"alice\x00wonder",
        b"",
        b"bob\x00alice\x00wonder",
        b"\x00\xff\x00wonder",
        b"\x00alice\x00wonder\x00more",
    ],
)
def test_everything_else_is_refused(token: bytes) -> None:
    assert isinstance(PlainServer(USERS.check).step(token), Failed)


def test_an_unknown_user_and_a_wrong_password_get_the_same_message() -> None:
    server = PlainServer(USERS.check)
    unknown, wrong = server.step(b"\x00bob\x00x"), server.step(b"\x00alice\x00x")
    assert isinstance(unknown, Failed)
    assert isinstance(wrong, Failed)
    assert unknown.message == wrong.message


def test_the_authorization_id_may_repeat_the_user() -> None:
    assert isinstance(PlainServer(USERS.check).step(b"alice\x00alice\x00wonder"), Authenticated)
