"""An unknown user and a wrong password cause the same work.

Times of single logins are noise in a test, so the calls that take the time are compared.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.metadata.applier import MetadataView
from barnabas.metadata.scram import ScramUser
from barnabas.node.sasl import ScramAccounts
from barnabas.node.token_accounts import TokenAccounts
from barnabas.security.sasl import plain, scram
from barnabas.security.sasl.exchange import Challenge, Failed
from barnabas.security.sasl.plain import PlainServer, PlainUsers
from barnabas.security.sasl.scram import ScramClient, ScramServer
from barnabas.security.sasl.scram_credentials import ScramMechanism, keys_of

SALT = b"s" * 32
Calls = list[tuple[str, int, int]]


def scram_calls(monkeypatch: pytest.MonkeyPatch, mechanism: ScramMechanism, user: str) -> tuple[Calls, list[bytes]]:
    """The cryptographic calls of a login with a wrong password, with the sizes of their arguments,
    and the sizes of the server's answers."""
    stored = keys_of(mechanism, mechanism.salted("wonder", SALT, 4096), SALT, 4096)
    image = SimpleNamespace(scram=SimpleNamespace(by_user={ScramUser("alice", mechanism.number): stored}))
    metadata = cast(MetadataView, SimpleNamespace(image=image))
    accounts = ScramAccounts(mechanism, metadata, b"secret", TokenAccounts(mechanism, metadata, None, b"secret"))
    server, client = ScramServer(mechanism, accounts.find, "server-nonce"), ScramClient(mechanism, user, "wrong", "client-nonce")
    calls: Calls = []

    def observed(name: str) -> Any:
        original: Any = getattr(ScramMechanism, name)

        def call(self: ScramMechanism, *arguments: bytes) -> bytes:
            calls.append((name, len(arguments[0]), len(arguments[-1])))
            result: bytes = original(self, *arguments)
            return result

        return call

    def compare(left: bytes, right: bytes) -> bool:
        calls.append(("compare", len(left), len(right)))
        return left == right

    def step(token: bytes) -> Any:
        """A step of the server alone: the client computes with the same functions."""
        with monkeypatch.context() as patched:
            patched.setattr(scram, "compare_digest", compare)
            for name in ("mac", "hash"):
                patched.setattr(ScramMechanism, name, observed(name))
            return server.step(token)

    challenge = step(client.first())
    assert isinstance(challenge, Challenge)
    final = client.step(challenge.token)
    assert final is not None
    failed = step(final)
    assert isinstance(failed, Failed)
    return calls, [failed.message.encode(), b"x" * len(challenge.token)]


@pytest.mark.parametrize("mechanism", ScramMechanism, ids=lambda each: each.title)
def test_scram_works_as_much_for_an_unknown_user(monkeypatch: pytest.MonkeyPatch, mechanism: ScramMechanism) -> None:
    known = scram_calls(monkeypatch, mechanism, "alice")
    unknown = scram_calls(monkeypatch, mechanism, "carol")
    assert known == unknown
    assert ("compare", len(mechanism.hash(b"")), len(mechanism.hash(b""))) in known[0]


def test_plain_compares_as_much_for_an_unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(len(right))
        return False

    monkeypatch.setattr(plain, "compare_digest", compare)
    server = PlainServer(PlainUsers({"alice": "wonder"}).check)
    for user in ("alice", "carol"):
        assert isinstance(server.step(f"\x00{user}\x00wrong".encode()), Failed)
    # The time of a comparison depends on its second argument only, which is the client's.
    assert compared == [5, 5]
