"""ExpireDelegationToken, DescribeDelegationToken and logins with tokens, in both programs."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.conformance.tokens.logged_in import LoggedIn, LoginRefused, with_token
from tests.conformance.tokens.nodes import DAY_MS
from tests.conformance.tokens.sides import CLOSE_MS, Side, Sides, creation, description, everything, expiry, renewal, same_for_all
from tests.waiting import until


def test_renew_and_expire_delegation_token_of_an_unknown_hmac(sides: Sides) -> None:
    for unknown in (b"", b"nothing", bytes(64)):
        renewal, expiry = (
            RenewDelegationTokenRequest(hmac=unknown, renew_period_ms=-1),
            ExpireDelegationTokenRequest(hmac=unknown, expiry_time_period_ms=-1),
        )
        for request in (renewal, expiry):
            sides.same("alice", partial(same_for_all, request))


def test_expire_delegation_token_sets_an_expiry_or_removes(sides: Sides) -> None:
    sides.same("alice", creation("User:bob"), made="it")
    sides.soon_same("alice", expiry("it", 60_000))
    sides.soon_same("alice", expiry("it", 10 * DAY_MS))
    sides.same("bob", expiry("it", 5 * 60_000), 1)
    assert sides.same("carol", expiry("it")).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert sides.same("bob", expiry("it")).error_code == ErrorCode.NONE
    sides.soon_same("alice", expiry("it"))
    sides.soon_same("alice", renewal("it"))


def test_an_expired_delegation_token_cannot_be_renewed_but_removed(sides: Sides) -> None:
    sides.same("alice", creation("User:bob"), made="it")
    sides.soon_same("alice", expiry("it", 0))
    time.sleep(0.005)  # both brokers read their own clocks
    sides.soon_same("carol", renewal("it"))
    assert sides.same("carol", renewal("it")).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert sides.same("alice", expiry("it", 60_000)).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert sides.same("carol", expiry("it", 60_000)).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert sides.same("alice", expiry("it")).error_code == ErrorCode.NONE


def test_describe_delegation_token_shows_all_tokens_without_an_authorizer(sides: Sides) -> None:
    sides.same("alice", creation("User:bob"), made="alices")
    sides.same("bob", creation("User:carol", "User:alice"), made="bobs")
    sides.same("carol", creation(), made="carols")
    for user in ("alice", "bob", "carol", "admin"):
        sides.soon_same(user, everything)
        sides.same(user, description())
        for owners in (["User:alice"], ["User:bob"], ["User:carol", "User:bob"], ["User:nobody"], ["Group:alice"]):
            sides.same(user, description(*owners))
    for version in (1, 2):
        sides.same("alice", everything, version)
    for token, user in (("alices", "alice"), ("bobs", "bob"), ("carols", "carol")):
        sides.same(user, expiry(token))


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_client_with_a_token_may_not_ask_for_tokens(sides: Sides, mechanism: ScramMechanism) -> None:
    sides.same("alice", creation("User:alice"), made="it")
    sessions = []
    for side in (sides.kafka, sides.barnabas):
        token = side.made["it"]

        def log_in(side: Side = side, token: Any = token) -> LoggedIn:
            return with_token(side.address, token.token_id, bytes(token.hmac), mechanism)

        sessions.append((side, until(log_in, "the broker knows the token", retry_on=LoginRefused)))
    for request in (creation("Group:x"), renewal("it"), expiry("it"), everything):
        kafka, barnabas = (side.compared(session.ask(request(side), 2), 2) for side, session in sessions)
        assert kafka == barnabas
        assert barnabas["error_code"] == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    lifetimes = [round((session.session_lifetime_ms - DAY_MS) / CLOSE_MS) for _, session in sessions]
    assert lifetimes == [0, 0], "the session ends with the token"
    assert [session.ask(MetadataRequest(topics=[]), 12).error_code for _, session in sessions] == [0, 0]
    for _, session in sessions:
        session.close()
    sides.same("alice", expiry("it"))


def test_login_with_a_wrong_token_gets_the_same_answer(sides: Sides) -> None:
    sides.same("alice", creation(), made="it")
    answers = []
    for side in (sides.kafka, sides.barnabas):
        for token_id, hmac_ in ((side.made["it"].token_id, b"wrong"), ("unknown", bytes(side.made["it"].hmac))):
            with pytest.raises(LoginRefused) as refused:
                with_token(side.address, token_id, hmac_)
            answers.append(str(refused.value))
    assert len(set(answers)) == 1, answers
    sides.same("alice", expiry("it"))
