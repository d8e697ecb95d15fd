"""An identity provider without a network: its keys, and tokens that it signed."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

NOW_SECONDS = 1_700_000_000
NOW_MS = 1000 * NOW_SECONDS
Key = RSAKey | ECKey | OKPKey


@cache
def rsa_key(key_id: str = "rsa") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": key_id})


@cache
def ec_key(key_id: str = "ec") -> ECKey:
    return ECKey.generate_key("P-256", {"kid": key_id})


@cache
def ed_key(key_id: str = "ed") -> OKPKey:
    return OKPKey.generate_key("Ed25519", {"kid": key_id})


def key_set(*keys: Key, **changes: Any) -> bytes:
    return json.dumps({"keys": [{**key.as_dict(private=False), **changes} for key in keys]}).encode()


def claims(now_seconds: float = NOW_SECONDS, **changes: Any) -> dict[str, Any]:
    """None removes a claim."""
    made = {"sub": "alice", "iat": now_seconds, "exp": now_seconds + 3600, "iss": "issuer", "aud": "kafka", "scope": "read write"} | changes
    return {name: value for name, value in made.items() if value is not None}


def signed(key: Key, said: dict[str, Any], algorithm: str = "RS256", **header: Any) -> str:
    """``kid=None`` leaves the key's id out."""
    headers = {"alg": algorithm, "kid": key.kid, **header}
    headers = {name: value for name, value in headers.items() if value is not None}
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    return jws.serialize_compact(headers, json.dumps(said), key, registry=registry)
