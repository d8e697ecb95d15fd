"""Delegation tokens in a cluster whose brokers forward to a controller of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.conformance.differential.raw_client import Closed, RawClient
from tests.conformance.tokens.logged_in import LoggedIn, LoginRefused, with_password, with_token
from tests.conformance.tokens.nodes import PASSWORDS, SASL, TOKENS
from tests.waiting import until


@pytest.fixture
def kafka() -> Iterator[EmbeddedBroker]:
    often = {"delegation.token.expiry.check.interval.ms": "200", "connection.failed.authentication.delay.ms": "0"}
    with EmbeddedBroker(brokers=2, config=SASL | TOKENS | often) as running:
        yield running


def addresses(kafka: EmbeddedBroker) -> list[str]:
    return kafka.bootstrap.split(",")


def made(address: str, user: str, *renewers: str) -> Any:
    asked = [CreatableRenewers(principal_type="User", principal_name=each) for each in renewers]
    with with_password(address, user, PASSWORDS[user]) as client:
        token = client.ask(CreateDelegationTokenRequest(renewers=asked, max_lifetime_ms=-1), 3)
    assert token.error_code == ErrorCode.NONE
    return token


def known(address: str, token: Any) -> LoggedIn:
    """Logged in with the token. A broker learns of a token a moment after the controller."""

    def log_in() -> LoggedIn:
        return with_token(address, token.token_id, bytes(token.hmac))

    return until(log_in, "the broker knows the token", retry_on=LoginRefused)


def test_the_controller_sees_the_client_behind_the_broker(kafka: EmbeddedBroker) -> None:
    first, second = addresses(kafka)
    token = made(first, "alice", "bob")
    assert (token.principal_name, token.token_requester_principal_name) == ("alice", "alice")
    renewal = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=60_000)
    for user, error in (("bob", ErrorCode.NONE), ("carol", ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH), ("alice", ErrorCode.NONE)):
        with with_password(second, user, PASSWORDS[user]) as client:
            assert client.ask(renewal, 2).error_code == error


def test_a_token_logs_in_at_every_broker_and_until_it_is_removed(kafka: EmbeddedBroker) -> None:
    token = made(addresses(kafka)[0], "alice")
    for address in addresses(kafka):
        with known(address, token) as session:
            assert session.ask(MetadataRequest(topics=[]), 12).error_code == ErrorCode.NONE
            refused = session.ask(DescribeDelegationTokenRequest(owners=None), 3)
            assert refused.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    with with_password(addresses(kafka)[1], "alice", PASSWORDS["alice"]) as client:
        assert client.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1), 2).error_code == ErrorCode.NONE

    def refused_everywhere() -> bool:
        for address in addresses(kafka):
            try:
                with_token(address, token.token_id, bytes(token.hmac)).close()
            except LoginRefused:
                continue
            return False
        return True

    until(refused_everywhere, "no broker takes the token any more")


def test_a_session_ends_with_its_token_and_the_token_is_swept(kafka: EmbeddedBroker) -> None:
    address = addresses(kafka)[0]
    token = made(address, "alice")
    known(address, token).close()
    with with_password(address, "alice", PASSWORDS["alice"]) as owner:
        assert owner.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=3_000), 2).error_code == ErrorCode.NONE
        everything = DescribeDelegationTokenRequest(owners=None)

        def lifetime_ms() -> int:
            with known(address, token) as session:
                return session.session_lifetime_ms

        until(lambda: 0 < lifetime_ms() <= 3_000, "the broker knows the new expiry")
        with known(address, token) as session:
            assert session.ask(MetadataRequest(topics=[]), 12).error_code == ErrorCode.NONE
            time.sleep(session.session_lifetime_ms / 1000)  # the claim is about this duration
            assert session.ask(MetadataRequest(topics=[]), 12) == Closed()
        until(lambda: owner.ask(everything, 3).tokens == [], "the expired token is removed")


def test_a_listener_without_authentication_gives_no_tokens() -> None:
    with EmbeddedBroker(config=TOKENS) as plain, RawClient(plain.bootstrap) as client:
        asked = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)
        assert client.ask(asked, 3).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        assert client.ask(DescribeDelegationTokenRequest(owners=None), 3).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
