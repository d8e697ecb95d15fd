"""Delegation tokens as accounts of SCRAM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.metadata.delegation_tokens import DelegationTokensImage
from barnabas.node import token_accounts
from barnabas.node.token_accounts import TokenAccounts
from barnabas.security.delegation_tokens import token_password
from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Challenge
from barnabas.security.sasl.scram import ScramClient, ScramServer
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.wire.metadata_records import DelegationTokenRecord

KEY = "the key of all nodes"
EXPIRY_MS, MAX_MS = 1_000, 5_000


def token(token_id: str) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner="User:alice",
        requester="User:admin",
        renewers=[],
        issue_timestamp=0,
        max_timestamp=MAX_MS,
        expiration_timestamp=EXPIRY_MS,
        token_id=token_id,
    )


def accounts(*ids: str, key: str | None = KEY, mechanism: ScramMechanism = ScramMechanism.SHA_256) -> TokenAccounts:
    tokens = DelegationTokensImage({each: token(each) for each in ids})
    metadata: Any = SimpleNamespace(image=SimpleNamespace(delegation_tokens=tokens))
    return TokenAccounts(mechanism, metadata, key, b"salting")


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_the_hmac_is_the_password_and_the_owner_the_principal(mechanism: ScramMechanism) -> None:
    found = accounts("some", mechanism=mechanism).find("some")
    assert found is not None
    server = ScramServer(mechanism, lambda user, by_token: found, "server")
    client = ScramClient(mechanism, "some", token_password(KEY, "some"), "client", by_token=True)
    challenge = server.step(client.first())
    assert isinstance(challenge, Challenge)
    answer = client.step(challenge.token)
    assert answer is not None
    done = server.step(answer)
    assert isinstance(done, Authenticated)
    assert done.principal == Principal("User", "alice", token_authenticated=True)
    assert done.expires_ms == EXPIRY_MS
    assert client.step(done.token) is None


def test_an_unknown_token_has_no_account() -> None:
    assert accounts("some").find("other") is None


def test_without_a_secret_key_no_token_has_an_account() -> None:
    assert accounts("some", key=None).find("some") is None


def test_keys_are_derived_once_and_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_accounts, "KEPT_MAX", 2)
    known = accounts("a", "b", "c")
    first = known.find("a")
    again = known.find("a")
    assert first is not None
    assert again is not None
    assert first.keys is again.keys
    known.find("b")
    known.find("c")
    derived = known.find("a")
    assert derived is not None
    assert derived.keys is not first.keys
    assert derived.keys == first.keys
