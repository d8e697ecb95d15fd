from __future__ import annotations

import base64
import hmac
import json
import warnings
from hashlib import sha256
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey

from barnabas.security.sasl.signing_keys import KEYS_MAX, TOKEN_LENGTH_MAX, Unverified, parse_signing_keys
from barnabas.security.sasl.unsecured_tokens import make_unsecured_token, unsecured_claims, unverified_claims
from tests.unit.security.sasl.tokens import Key, claims, ec_key, ed_key, key_set, rsa_key, signed


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(rsa_key(), "RS256"), (rsa_key(), "PS512"), (ec_key(), "ES256"), (ed_key(), "Ed25519"), (ed_key(), "EdDSA")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_token_of_every_algorithm_is_verified(key: Key, algorithm: str) -> None:
    with warnings.catch_warnings():
        # The test signs with the old name of Ed25519.
        warnings.simplefilter("ignore")
        token = signed(key, claims(), algorithm)
    assert parse_signing_keys(key_set(rsa_key(), ec_key(), ed_key())).claims(token) == claims()


def test_a_token_without_a_key_id_is_tried_with_the_keys_that_fit() -> None:
    keys = parse_signing_keys(key_set(rsa_key("other"), rsa_key(), ec_key()))
    assert keys.claims(signed(rsa_key(), claims(), kid=None)) == claims()


def test_a_changed_token_is_refused() -> None:
    header, payload, signature = signed(rsa_key(), claims()).split(".")
    keys = parse_signing_keys(key_set(rsa_key()))
    assert keys.claims(f"{header}.{encoded(claims(sub='root'))}.{signature}") == Unverified("the token's signature is wrong")
    assert isinstance(keys.claims(f"{header}.{payload}."), Unverified)
    assert isinstance(keys.claims(f"{header}.{payload}.{'A' * len(signature)}"), Unverified)


def test_another_key_with_the_same_id_is_refused() -> None:
    assert parse_signing_keys(key_set(rsa_key())).claims(signed(RSAKey.generate_key(2048), claims(), kid="rsa")) == Unverified(
        "the token's signature is wrong"
    )


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS256", "HS512", "RS1", "RSA1_5", 7, None, ["RS256"]])
def test_an_algorithm_that_is_not_an_asymmetric_signature_is_refused(algorithm: Any) -> None:
    for signature in ("", "AAAA"):
        token = f"{encoded({'alg': algorithm, 'kid': 'rsa'})}.{encoded(claims())}.{signature}"
        assert isinstance(parse_signing_keys(key_set(rsa_key())).claims(token), Unverified)


def test_the_public_key_is_not_taken_for_the_secret_of_an_hmac() -> None:
    public = rsa_key().as_pem(private=False)
    for secret in (public, public.strip(), json.dumps(rsa_key().as_dict(private=False)).encode()):
        text = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{encoded(claims())}"
        mac = base64.urlsafe_b64encode(hmac.digest(secret, text.encode(), sha256)).decode().rstrip("=")
        assert isinstance(parse_signing_keys(key_set(rsa_key())).claims(f"{text}.{mac}"), Unverified)


def test_symmetric_and_unfit_keys_of_a_set_are_left_out() -> None:
    small = {"kty": "RSA", "n": "AQAB" * 20, "e": "AQAB", "kid": "small"}
    entries = [
        OctKey.generate_key(256).as_dict(),
        small,
        {"kty": "future"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-256", "x": "!", "y": "!"},
        7,
        {**rsa_key("encrypting").as_dict(private=False), "use": "enc"},
        rsa_key().as_dict(private=False),
    ]
    assert len(parse_signing_keys(json.dumps({"keys": entries}).encode())) == 1


@pytest.mark.parametrize(
    "document", [b"", b"{", b"[]", b"{}", b'{"keys": 1}', b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "AAAA"}]}', b"\xff"]
)
def test_a_document_without_keys_is_a_sentence(document: bytes) -> None:
    with pytest.raises(ValueError, match="the key set"):
        parse_signing_keys(document)


def test_a_set_may_not_have_too_many_keys() -> None:
    with pytest.raises(ValueError, match=f"more than {KEYS_MAX}"):
        parse_signing_keys(json.dumps({"keys": [{}] * (KEYS_MAX + 1)}).encode())


def test_a_key_is_used_for_its_own_algorithm_only() -> None:
    keys = parse_signing_keys(key_set(rsa_key(), alg="RS256"))
    assert keys.claims(signed(rsa_key(), claims(), "RS256")) == claims()
    assert isinstance(keys.claims(signed(rsa_key(), claims(), "PS256")), Unverified)


def test_a_missing_key_id_is_reported() -> None:
    keys = parse_signing_keys(key_set(rsa_key()))
    assert keys.claims(signed(rsa_key("new"), claims())) == Unverified("no key of the identity provider fits the token", "new")


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "a.b.c.d",
        f"{encoded([])}.{encoded(1)}.",
        f"{encoded({'alg': 'RS256', 'kid': 7})}.e30.AA",
        "x" * (TOKEN_LENGTH_MAX + 1),
        f"{encoded({'alg': 'RS256', 'crit': ['exp']})}.{encoded({})}.AA",
        "[" * 30_000 + "..",
    ],
)
def test_text_that_is_not_a_token_is_refused(token: str) -> None:
    assert isinstance(parse_signing_keys(key_set(rsa_key())).claims(token), Unverified)
    assert isinstance(unsecured_claims(token), Unverified)


def test_claims_that_are_not_an_object_are_refused() -> None:
    header, _, _ = signed(rsa_key(), claims()).split(".")
    assert header
    token = signed(rsa_key(), ["alice"])  # type: ignore[arg-type]
    assert isinstance(parse_signing_keys(key_set(rsa_key())).claims(token), Unverified)


def test_an_unsecured_token_is_read_only_where_it_is_asked_for() -> None:
    token = make_unsecured_token(claims())
    assert unsecured_claims(token) == claims()
    assert isinstance(parse_signing_keys(key_set(rsa_key())).claims(token), Unverified)


def test_a_signed_token_is_not_taken_for_an_unsecured_one() -> None:
    assert isinstance(unsecured_claims(signed(rsa_key(), claims())), Unverified)
    assert unverified_claims(signed(rsa_key(), claims())) == claims()
    assert unverified_claims("opaque") is None
