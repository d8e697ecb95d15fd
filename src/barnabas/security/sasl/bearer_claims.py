"""The claims of a token, once its signature was verified: its principal, or why it is refused.

A token must say when it was issued and when it ends. It is refused after its end, before its
beginning (``nbf``), when its issuer is another than expected, and when none of its audiences is
expected. Both ends tolerate the clock skew. A refusal's reason is for the log of this server; it
names claims and never repeats their values, which are the client's to choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from barnabas.model.dataclass import dataclass
from barnabas.security.sasl.oauthbearer import BearerToken, TokenRefused

# A claim after the year 9999 is a mistake; times beyond 64 bits would not fit into a session.
_SECONDS_MAX = 253_402_300_799
# RFC 6749: the token is good, but not for this.
_INSUFFICIENT_SCOPE = "insufficient_scope"


@dataclass(frozen=True, slots=True)
class ClaimRules:
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    # Empty accepts every audience, None every issuer.
    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    clock_skew_ms: int = 30_000
    # All of them must be in the token's scope.
    scopes_required: frozenset[str] = frozenset()


def check_claims(claims: Mapping[str, object], rules: ClaimRules, now_ms: int) -> BearerToken | TokenRefused:
    expires_ms, issued_ms = seconds_in_ms(claims.get("exp")), seconds_in_ms(claims.get("iat"))
    if expires_ms is None:
        return TokenRefused("the token has no expiry (exp) that can be read")
    if issued_ms is None:
        return TokenRefused("the token does not say when it was issued (iat)")
    if now_ms - rules.clock_skew_ms >= expires_ms:
        return TokenRefused(f"the token expired {now_ms - expires_ms} ms ago")
    if "nbf" in claims:
        begins_ms = seconds_in_ms(claims["nbf"])
        if begins_ms is None or now_ms + rules.clock_skew_ms < begins_ms:
            return TokenRefused("the token is not valid yet (nbf)")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        return TokenRefused("the token comes from another issuer (iss)")
    if rules.audiences and not _strings(claims.get("aud")) & set(rules.audiences):
        return TokenRefused("the token is meant for another audience (aud)")
    if not rules.scopes_required <= _scopes(claims.get(rules.scope_claim)):
        return TokenRefused(f"the token's scope ({rules.scope_claim}) is not sufficient", _INSUFFICIENT_SCOPE)
    name = claims.get(rules.subject_claim)
    if not isinstance(name, str) or not name.strip():
        return TokenRefused(f"the token names no principal ({rules.subject_claim})")
    return BearerToken(name.strip(), expires_ms)


def seconds_in_ms(value: object) -> int | None:
    """A NumericDate: seconds since 1970, perhaps with a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value <= _SECONDS_MAX:
        return None
    return int(value * 1000)


def _strings(value: object) -> set[str]:
    if isinstance(value, str):
        return {value}
    return {each for each in value if isinstance(each, str)} if isinstance(value, list) else set()


def _scopes(value: object) -> set[str]:
    """A list, or one text with blanks between the scopes."""
    return {scope for each in _strings(value) for scope in each.split()}
