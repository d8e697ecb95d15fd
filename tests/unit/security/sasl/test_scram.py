"""SCRAM: RFC 7677's example, both sides against each other, and damaged messages."""

from __future__ import annotations

import base64

import pytest

from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Challenge, Failed, ServerRefused
from barnabas.security.sasl.scram import Account, ScramClient, ScramServer
from barnabas.security.sasl.scram_credentials import ScramMechanism, invented_keys, keys_of

SHA_256 = ScramMechanism.SHA_256


def account(user: str = "user", password: str = "pencil", salt: bytes = b"salt" * 4, mechanism: ScramMechanism = SHA_256) -> Account:
    keys = keys_of(mechanism, mechanism.salted(password, salt, 4096), salt, 4096)
    return Account(keys, Principal("User", user), exists=True)


def test_the_example_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    server = ScramServer(SHA_256, lambda user, _: account(user, salt=salt), "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = server.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == Challenge(b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    last = server.step(b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert last == Authenticated(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", Principal("User", "user"))


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("user", ["alice", "a,b=c", "zoë"])
def test_a_client_and_a_server_agree(mechanism: ScramMechanism, user: str) -> None:
    seen: list[tuple[str, bool]] = []

    def find(name: str, by_token: bool) -> Account:
        seen.append((name, by_token))
        return account(name, mechanism=mechanism)

    client, server = ScramClient(mechanism, user, "pencil", "clients"), ScramServer(mechanism, find, "servers")
    challenge = server.step(client.first())
    assert isinstance(challenge, Challenge)
    proof = client.step(challenge.token)
    assert proof is not None
    end = server.step(proof)
    assert isinstance(end, Authenticated)
    assert client.step(end.token) is None
    assert end.principal == Principal("User", user)
    assert seen == [(user, False)]


def test_a_wrong_password_and_an_unknown_user_look_the_same() -> None:
    def tried(known: Account) -> list[object]:
        server = ScramServer(SHA_256, lambda _user, _token: known, "servers")
        client = ScramClient(SHA_256, "alice", "wrong", "clients")
        challenge = server.step(client.first())
        assert isinstance(challenge, Challenge)
        proof = client.step(challenge.token)
        assert proof is not None
        end = server.step(proof)
        assert isinstance(end, Failed)
        return [challenge.token.decode().split(",")[2], end.message]

    unknown = Account(invented_keys(SHA_256, b"secret", "alice"), Principal("User", "alice"), exists=False)
    assert tried(account("alice")) == tried(unknown)


def test_an_invented_salt_is_the_same_each_time_and_differs_between_users() -> None:
    assert invented_keys(SHA_256, b"s", "a").salt == invented_keys(SHA_256, b"s", "a").salt
    assert invented_keys(SHA_256, b"s", "a").salt != invented_keys(SHA_256, b"s", "b").salt


@pytest.mark.parametrize("salt_bytes", [1, 26, 32, 100])
def test_invented_keys_resemble_those_of_a_user_that_exists(salt_bytes: int) -> None:
    salt = bytes(salt_bytes)
    model = keys_of(SHA_256, SHA_256.salted("password", salt, 8192), salt, 8192)
    invented = invented_keys(SHA_256, b"s", "a", model)
    assert (len(invented.salt), invented.iterations) == (salt_bytes, 8192)


def test_a_delegation_token_is_recognised_by_its_extension() -> None:
    seen: list[bool] = []

    def find(user: str, by_token: bool) -> Account:
        seen.append(by_token)
        return account(user)

    ScramServer(SHA_256, find, "servers").step(b"n,,n=id,r=nonce,tokenauth=true")
    assert seen == [True]


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,",
        b"p=tls-unique,,n=user,r=x",
        b"n,,n=,r=x",
        b"n,,n=user",
        b"n,,n=us=er,r=x",
        b"n,,n=user,r=",
        b"\xff\xfe",
        b"n,,m=ext,n=user,r=x",
    ],
)
def test_a_first_message_that_is_not_scram_fails(first: bytes) -> None:
    assert isinstance(ScramServer(SHA_256, lambda user, _: account(user), "s").step(first), Failed)


@pytest.mark.parametrize(
    "final", [b"", b"c=biws,r=xs", b"c=biws,r=other,p=AAAA", b"c=eSws,r=xs,p=AAAA", b"c=biws,r=xs,p=AAAA", b"c=biws,r=xs,p=!!"]
)
def test_a_final_message_that_does_not_fit_fails(final: bytes) -> None:
    server = ScramServer(SHA_256, lambda user, _: account(user), "s")
    assert isinstance(server.step(b"n,,n=user,r=x"), Challenge)
    assert isinstance(server.step(final), Failed)


def test_a_client_accepts_no_weak_iterations_and_no_foreign_server() -> None:
    client = ScramClient(SHA_256, "user", "pencil", "mine")
    with pytest.raises(ServerRefused, match="iterations"):
        client.step(b"r=minetheirs,s=c2FsdA==,i=1")
    with pytest.raises(ServerRefused):
        client.step(b"r=theirs,s=c2FsdA==,i=4096")
    assert client.step(b"r=minetheirs,s=c2FsdA==,i=4096") is not None
    with pytest.raises(ServerRefused):
        client.step(b"v=AAAA")
