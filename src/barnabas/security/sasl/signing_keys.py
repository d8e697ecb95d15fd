"""The public keys of an identity provider (a JWK set, RFC 7517), and the tokens that they signed.

Only asymmetric algorithms are accepted. A token that names ``none``, or an HMAC whose secret would
be the public key, is refused before any key is looked at; symmetric keys of a set are dropped, so
that no token can be verified with one by mistake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey
from joserfc.util import urlsafe_b64decode

from barnabas.model.dataclass import dataclass

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
# Providers publish a handful of keys; each costs memory and, without an id, a verification.
KEYS_MAX = 256
KEYS_TRIED_MAX = 8
# Tokens with many groups in them have some kilobytes.
TOKEN_LENGTH_MAX = 65_536
# Shorter ones can be factored; no provider has used them for years.
RSA_BITS_MIN = 2048

_REGISTRY = jws.JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
_REGISTRY.max_header_length = TOKEN_LENGTH_MAX
_REGISTRY.max_payload_length = TOKEN_LENGTH_MAX
_REGISTRY.max_signature_length = 4096


@dataclass(frozen=True, slots=True)
class Unverified:
    """``missing`` is the id of the key that signed the token, when no key has that id."""

    reason: str
    missing: str | None = None


class SigningKeys:
    def __init__(self, keys: list[RSAKey | ECKey | OKPKey]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    def claims(self, token: str) -> Mapping[str, object] | Unverified:
        """The claims of a token whose signature is good."""
        if len(token) > TOKEN_LENGTH_MAX:
            return Unverified(f"the token has more than {TOKEN_LENGTH_MAX} characters")
        try:
            signed = jws.extract_compact(token.encode(), registry=_REGISTRY)
            header = signed.headers()
            _REGISTRY.check_header(header)
        except (JoseError, ValueError, RecursionError):
            return Unverified("the token is not a signed JWT")
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            return Unverified("the token's algorithm is not an asymmetric signature")
        if key_id is not None and not isinstance(key_id, str):
            return Unverified("the token's key id is not a text")
        fitting = [each for each in self._keys if _fits(each, algorithm, key_id)]
        if not fitting:
            return Unverified("no key of the identity provider fits the token", key_id)
        for key in fitting[:KEYS_TRIED_MAX]:
            try:
                if _verifies(key, algorithm, signed):
                    return _claims(signed.payload)
            except (JoseError, ValueError):
                continue
        return Unverified("the token's signature is wrong")


def parse_signing_keys(document: bytes) -> SigningKeys:
    """Raises ``ValueError`` with a sentence for a document that is not a JWK set. Single keys that
    cannot be used here are left out, as the standard asks."""
    try:
        found = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise ValueError("the key set is not JSON") from error
    listed = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise ValueError("the key set has no list of keys")
    if len(listed) > KEYS_MAX:
        raise ValueError(f"the key set has {len(listed)} keys, more than {KEYS_MAX}")
    keys = [key for key in map(_key, listed) if key is not None]
    if not keys:
        raise ValueError("the key set has no key that can verify signatures")
    return SigningKeys(keys)


def _key(entry: Any) -> RSAKey | ECKey | OKPKey | None:
    if not isinstance(entry, dict) or entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig":
        return None
    if not isinstance(entry.get("kid", ""), str) or not isinstance(entry.get("alg", ""), str):
        return None
    try:
        if entry["kty"] == "RSA" and int(8 * len(str(entry.get("n"))) * 3 / 4) < RSA_BITS_MIN:
            return None
        key = JWKRegistry.import_key(entry)
        if isinstance(key, RSAKey | ECKey | OKPKey):
            # Imports the numbers, so that bad ones show here and not with a client's token.
            _ = key.public_key
            return key
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        pass
    return None


def _verifies(key: RSAKey | ECKey | OKPKey, algorithm: str, signed: jws.CompactSignature) -> bool:
    model = _REGISTRY.algorithms[algorithm]
    model.check_key(key)
    signature = urlsafe_b64decode(signed.segments["signature"])
    return bool(model.verify(signed.segments["header"] + b"." + signed.segments["payload"], signature, key))


def _fits(key: RSAKey | ECKey | OKPKey, algorithm: str, key_id: str | None) -> bool:
    own_id, own_algorithm = key.get("kid"), key.get("alg")
    return key.key_type == _KEY_TYPES[algorithm[:2]] and key_id in (None, own_id) and own_algorithm in (None, algorithm)


def _claims(payload: bytes) -> Mapping[str, object] | Unverified:
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError):
        claims = None
    return claims if isinstance(claims, dict) else Unverified("the token's claims are not a JSON object")
