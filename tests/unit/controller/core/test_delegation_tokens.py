"""Delegation tokens: made, renewed and ended by their owners and renewers, and for how long they
live."""

from __future__ import annotations

import hmac

import pytest

from barnabas.controller.core.delegation_tokens import SWEPT_AT_ONCE_MAX
from barnabas.metadata.features import METADATA_VERSION
from barnabas.model.errors import ErrorCode
from barnabas.security.principal import Principal
from barnabas.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.metadata_records import DelegationTokenRecord, FeatureLevelRecord, RemoveDelegationTokenRecord
from tests.unit.controller.core.deciding import WALL_MS, Office

KEY = "the key of all nodes"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
FILE = {"delegation.token.secret.key": KEY, "auto.leader.rebalance.enable": "false"}
ALICE, BOB, CAROL = (Principal("User", name) for name in ("alice", "bob", "carol"))


@pytest.fixture
def office() -> Office:
    return Office(file=FILE)


def made(office: Office, *renewers: str, life_ms: int = -1, owner: str = "", by: Principal = ALICE) -> CreateDelegationTokenResponse:
    request = CreateDelegationTokenRequest(
        owner_principal_type="User" if owner else "",
        owner_principal_name=owner,
        renewers=[CreatableRenewers(principal_type="User", principal_name=each) for each in renewers],
        max_lifetime_ms=life_ms,
    )
    response = office.ask(request, by)
    assert isinstance(response, CreateDelegationTokenResponse)
    return response


def renewal(token: CreateDelegationTokenResponse, period_ms: int = -1) -> RenewDelegationTokenRequest:
    return RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=period_ms)


def expiry(token: CreateDelegationTokenResponse, period_ms: int = -1) -> ExpireDelegationTokenRequest:
    return ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=period_ms)


def test_a_token_is_recorded_without_its_hmac(office: Office) -> None:
    token = made(office, "bob")
    assert token.hmac == hmac.digest(KEY.encode(), token.token_id.encode(), "sha512")
    (record,) = office.image.delegation_tokens.by_id.values()
    assert record == DelegationTokenRecord(
        owner="User:alice",
        requester="User:alice",
        renewers=["User:bob"],
        issue_timestamp=WALL_MS,
        max_timestamp=WALL_MS + 7 * DAY_MS,
        expiration_timestamp=WALL_MS + DAY_MS,
        token_id=token.token_id,
    )


@pytest.mark.parametrize(
    ("asked_ms", "life_ms"), [(-1, 7 * DAY_MS), (0, 7 * DAY_MS), (HOUR_MS, HOUR_MS), (8 * DAY_MS, 7 * DAY_MS), (2**63 - 1, 7 * DAY_MS)]
)
def test_a_token_lives_as_long_as_asked_within_the_setting(office: Office, asked_ms: int, life_ms: int) -> None:
    token = made(office, life_ms=asked_ms)
    assert token.max_timestamp_ms == WALL_MS + life_ms
    assert token.expiry_timestamp_ms == WALL_MS + min(life_ms, DAY_MS)


def test_a_life_beyond_the_range_of_times_ends_at_the_latest_time() -> None:
    office = Office(file=FILE | {"delegation.token.max.lifetime.ms": str(2**63 - 1)})
    assert made(office).max_timestamp_ms == 2**63 - 1


def test_a_token_in_the_name_of_another_user_belongs_to_that_user(office: Office) -> None:
    token = made(office, owner="carol")
    assert (token.principal_name, token.token_requester_principal_name) == ("carol", "alice")
    assert office.ask(renewal(token), ALICE).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert office.ask(renewal(token), CAROL).error_code == ErrorCode.NONE


def test_renewers_must_be_users(office: Office) -> None:
    request = CreateDelegationTokenRequest(renewers=[CreatableRenewers(principal_type="Group", principal_name="staff")], max_lifetime_ms=-1)
    assert office.ask(request, ALICE).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert office.image.delegation_tokens.by_id == {}


def test_a_renewal_reaches_at_most_to_the_maximum(office: Office) -> None:
    token = made(office, life_ms=30 * HOUR_MS)
    office.wait(HOUR_MS)
    assert office.ask(renewal(token, 2 * HOUR_MS), ALICE).expiry_timestamp_ms == WALL_MS + 3 * HOUR_MS
    office.wait(HOUR_MS)
    assert office.ask(renewal(token), ALICE).expiry_timestamp_ms == WALL_MS + 26 * HOUR_MS
    office.wait(20 * HOUR_MS)
    assert office.ask(renewal(token), ALICE).expiry_timestamp_ms == WALL_MS + 30 * HOUR_MS
    assert office.image.delegation_tokens.by_id[token.token_id].expiration_timestamp == WALL_MS + 30 * HOUR_MS


@pytest.mark.parametrize(
    ("principal", "error"),
    [(ALICE, ErrorCode.NONE), (BOB, ErrorCode.NONE), (CAROL, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)],
)
def test_the_owner_and_renewers_renew_and_end_a_token(office: Office, principal: Principal, error: ErrorCode) -> None:
    token = made(office, "bob")
    assert office.ask(renewal(token), principal).error_code == error
    assert office.ask(expiry(token, HOUR_MS), principal).error_code == error
    assert office.ask(expiry(token), principal).error_code == error
    assert (office.image.delegation_tokens.by_id == {}) == (error == ErrorCode.NONE)


def test_a_period_of_zero_ends_a_token_and_a_negative_one_removes_it(office: Office) -> None:
    token = made(office)
    assert office.ask(expiry(token, 0), ALICE).expiry_timestamp_ms == WALL_MS
    office.wait(1)
    assert office.ask(renewal(token), ALICE).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert office.ask(expiry(token, HOUR_MS), ALICE).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert office.decide(expiry(token), ALICE).records == [RemoveDelegationTokenRecord(token_id=token.token_id)]
    assert office.ask(expiry(token), ALICE).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_an_unknown_hmac_finds_no_token(office: Office) -> None:
    made(office)
    request = RenewDelegationTokenRequest(hmac=bytes(64), renew_period_ms=-1)
    assert office.ask(request, ALICE).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_without_a_secret_key_there_are_no_tokens() -> None:
    office = Office()
    token = made(office)
    assert token.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert office.ask(renewal(token), ALICE).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert office.ask(expiry(token), ALICE).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_brokers_of_an_older_metadata_version_do_not_know_tokens() -> None:
    office = Office([FeatureLevelRecord(name=METADATA_VERSION, feature_level=13)], file=FILE)
    token = made(office)
    assert token.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert office.ask(renewal(token), ALICE).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_expired_tokens_are_removed_once_an_hour() -> None:
    office = Office(file=FILE)
    short, long = made(office, life_ms=HOUR_MS // 2), made(office)
    assert office.wait(HOUR_MS - 1) == []
    assert office.wait(1) == [RemoveDelegationTokenRecord(token_id=short.token_id)]
    assert list(office.image.delegation_tokens.by_id) == [long.token_id]
    assert office.wait(HOUR_MS) == []


def test_many_expired_tokens_are_removed_in_several_batches() -> None:
    office = Office(file=FILE)
    for _ in range(SWEPT_AT_ONCE_MAX + 1):
        made(office, life_ms=1)
    assert [len(office.wait(wait_ms)) for wait_ms in (HOUR_MS, 0, 0)] == [SWEPT_AT_ONCE_MAX, 1, 0]
