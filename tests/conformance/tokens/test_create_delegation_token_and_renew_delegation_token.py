"""CreateDelegationToken and RenewDelegationToken, in Apache Kafka and in Barnabas."""

from __future__ import annotations

import hmac

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from tests.conformance.tokens.nodes import DAY_MS, SECRET_KEY
from tests.conformance.tokens.sides import Sides, creation, description, expiry, renewal


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("life_ms", [-1, 0, 5 * 60_000, 2 * DAY_MS, 8 * DAY_MS, 2**63 - 1])
def test_create_delegation_token_bounds_the_life(sides: Sides, version: int, life_ms: int) -> None:
    request = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=life_ms)
    made = sides.same("alice", lambda _: request, version, made="it")
    assert made.error_code == ErrorCode.NONE
    for side in (sides.kafka, sides.barnabas):
        assert side.made["it"].hmac == hmac.digest(SECRET_KEY.encode(), side.made["it"].token_id.encode(), "sha512")
    sides.same("alice", expiry("it"))


@pytest.mark.parametrize("renewers", [["Group:staff"], ["User:bob", "group:x"], ["user:bob"], [":bob"]], ids=str)
def test_create_delegation_token_takes_users_as_renewers_only(sides: Sides, renewers: list[str]) -> None:
    assert sides.same("alice", creation(*renewers)).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_create_delegation_token_in_the_name_of_oneself(sides: Sides) -> None:
    assert sides.same("alice", creation(owner="User:alice"), made="own").error_code == ErrorCode.NONE
    sides.same("alice", expiry("own"))


def test_create_delegation_token_in_the_name_of_another_user_without_an_authorizer(sides: Sides) -> None:
    request = creation(owner="User:carol")
    for side in (sides.kafka, sides.barnabas):
        side.made["carols"] = side.ask("alice", request(side), 3)
    sides.soon_same("carol", renewal("carols"))
    assert sides.same("alice", renewal("carols")).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    sides.soon_same("alice", description("User:alice"))
    sides.same("carol", expiry("carols"))


def test_renew_delegation_token_extends_up_to_the_maximum(sides: Sides) -> None:
    sides.same("alice", creation("User:bob", life_ms=10 * 60_000), made="short")
    sides.same("alice", creation("User:bob"), made="long")
    for token in ("short", "long"):
        for period_ms in (-1, 0, 3 * 60_000, 2 * DAY_MS, 2**63 - 1):
            sides.soon_same("alice", renewal(token, period_ms))
        sides.same("bob", renewal(token))
        assert sides.same("carol", renewal(token)).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert sides.same("alice", renewal(token), 1).error_code == ErrorCode.NONE
        sides.same("alice", expiry(token))
