"""An attacker cannot tell users that exist from others by what brokers answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from barnabas.metadata.applier import MetadataView
from barnabas.metadata.scram import ScramCredential, ScramImage, ScramUser
from barnabas.node.sasl import ScramAccounts
from barnabas.node.token_accounts import TokenAccounts
from barnabas.security.sasl.scram_credentials import ScramMechanism

SHA_256 = ScramMechanism.SHA_256
USERS = {
    ScramUser("alice", SHA_256.number): ScramCredential(b"a" * 26, b"stored", b"server key of alice", 8192),
    ScramUser("bob", SHA_256.number): ScramCredential(b"b" * 20, b"stored", b"server key of bob", 4096),
}


def node(secret: bytes, users: dict[ScramUser, ScramCredential]) -> ScramAccounts:
    image = SimpleNamespace(scram=ScramImage(users), delegation_tokens=SimpleNamespace(by_id={}))
    metadata = cast(MetadataView, SimpleNamespace(image=image))
    return ScramAccounts(SHA_256, metadata, secret, TokenAccounts(SHA_256, metadata, None, secret))


def test_two_brokers_answer_an_unknown_user_with_the_same_salt() -> None:
    here, there = (
        node(secret, dict(reversed(order))).find("mallory", False) for secret, order in ((b"1", USERS.items()), (b"2", USERS.items()))
    )
    assert here.keys.salt == there.keys.salt
    assert not here.exists


def test_an_unknown_user_has_the_iterations_and_the_salt_length_of_the_first_user() -> None:
    found = node(b"1", USERS).find("mallory", False)
    assert (len(found.keys.salt), found.keys.iterations) == (26, 8192)


def test_a_cluster_without_users_refuses_every_user() -> None:
    assert not node(b"1", {}).find("alice", False).exists
