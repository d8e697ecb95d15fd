from __future__ import annotations

from typing import Any

import pytest

from barnabas.security.sasl.bearer_claims import ClaimRules, check_claims
from barnabas.security.sasl.oauthbearer import BearerToken, TokenRefused
from tests.unit.security.sasl.tokens import NOW_MS, NOW_SECONDS, claims

STRICT = ClaimRules(audiences=("kafka", "other"), issuer="issuer")


def test_a_good_token_names_its_subject_and_its_end() -> None:
    assert check_claims(claims(), STRICT, NOW_MS) == BearerToken("alice", NOW_MS + 3_600_000)


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": -1},
        {"exp": 10**30},
        {"iat": None},
        {"iat": "now"},
        {"nbf": "now"},
        {"nbf": NOW_SECONDS + 31},
        {"exp": NOW_SECONDS - 30},
        {"iss": None},
        {"iss": "another"},
        {"iss": ["issuer"]},
        {"aud": None},
        {"aud": "another"},
        {"aud": ["another", 7]},
        {"aud": {"kafka": 1}},
        {"sub": None},
        {"sub": ""},
        {"sub": "  "},
        {"sub": 7},
    ],
    ids=str,
)
def test_a_claim_that_is_wrong_or_missing_refuses_the_token(changes: dict[str, Any]) -> None:
    refused = check_claims(claims(**changes), STRICT, NOW_MS)
    assert isinstance(refused, TokenRefused)
    assert refused.status == "invalid_token"


@pytest.mark.parametrize(
    "changes", [{"exp": NOW_SECONDS - 29}, {"nbf": NOW_SECONDS + 30}, {"exp": NOW_SECONDS + 0.5}, {"aud": ["another", "other"]}], ids=str
)
def test_clock_skew_and_any_of_the_audiences_are_accepted(changes: dict[str, Any]) -> None:
    assert isinstance(check_claims(claims(**changes), STRICT, NOW_MS), BearerToken)


def test_without_expectations_any_issuer_and_audience_is_accepted() -> None:
    assert isinstance(check_claims(claims(iss=None, aud=None), ClaimRules(), NOW_MS), BearerToken)


def test_the_principal_may_come_from_another_claim() -> None:
    rules = ClaimRules(subject_claim="client_id")
    assert check_claims(claims(client_id="svc"), rules, NOW_MS) == BearerToken("svc", NOW_MS + 3_600_000)
    assert isinstance(check_claims(claims(), rules, NOW_MS), TokenRefused)


@pytest.mark.parametrize(("scope", "enough"), [("read write", True), (["write", "read"], True), ("read", False), (None, False), (7, False)])
def test_a_required_scope_must_be_in_the_token(scope: Any, enough: bool) -> None:
    found = check_claims(claims(scope=scope), ClaimRules(scopes_required=frozenset({"read", "write"})), NOW_MS)
    assert isinstance(found, BearerToken) if enough else found.status == "insufficient_scope"  # type: ignore[union-attr]
