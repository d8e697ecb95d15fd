"""Delegation tokens (KIP-48): a credential that a client makes for other processes, so that these
need no password of their own.

A token has an *id*, which is public, and an *HMAC*, which is its password. The HMAC is computed
from the id with a secret key that all nodes of a cluster share (``delegation.token.secret.key``).
The metadata log has the id and never the HMAC, so that the log and its snapshots contain nothing
with which one can log in.

The *owner* is the user that a process with the token acts as. The *requester* created the token,
for itself or for another owner. *Renewers* may renew and expire it besides the owner.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Mapping
from typing import Protocol

from barnabas.security.principal import Principal


class TokenPeople(Protocol):
    """The part of a token's record that says whose it is, as ``Type:name``."""

    @property
    def owner(self) -> str: ...
    @property
    def requester(self) -> str: ...
    @property
    def renewers(self) -> Iterable[str]: ...


def token_hmac(secret_key: str, token_id: str) -> bytes:
    return hmac.digest(secret_key.encode("utf-8"), token_id.encode("utf-8"), "sha512")


def token_password(secret_key: str, token_id: str) -> str:
    """The HMAC as clients write it, which is the password of the SCRAM exchange."""
    return base64.b64encode(token_hmac(secret_key, token_id)).decode("ascii")


def may_renew(token: TokenPeople, principal: Principal) -> bool:
    """Whether the principal may renew the token, and end it early."""
    return str(principal) == token.owner or str(principal) in token.renewers


def concerns(token: TokenPeople, principal: Principal) -> bool:
    """Whether the token is one of this principal's: as owner, requester or renewer."""
    return str(principal) == token.requester or may_renew(token, principal)


def recorded_principal(text: str, *, token_authenticated: bool = False) -> Principal:
    """A principal in a token's record. A client may name an owner of any type, also an empty one,
    so every text must have a meaning here."""
    kind, _, name = text.partition(":")
    return Principal(kind, name, token_authenticated)


def token_principal(token: TokenPeople) -> Principal:
    """The identity of a connection that logged in with the token."""
    return recorded_principal(token.owner, token_authenticated=True)


class TokenSecrets:
    """Finds tokens by their HMACs.

    A request names a token by its HMAC alone, and the log does not have it. So the HMAC of every
    token is computed once and kept in memory.
    """

    def __init__(self, secret_key: str) -> None:
        self._secret_key = secret_key
        self._ids: Mapping[str, object] = {}
        self._hmacs: dict[str, bytes] = {}
        self._by_hmac: dict[bytes, str] = {}

    def hmac(self, token_id: str) -> bytes:
        return token_hmac(self._secret_key, token_id)

    def find(self, wanted: bytes, tokens: Mapping[str, object]) -> str | None:
        """The id of the token with this HMAC, among the ``tokens`` of an image."""
        if tokens is not self._ids:
            self._follow(tokens)
        return self._by_hmac.get(wanted)

    def _follow(self, tokens: Mapping[str, object]) -> None:
        for gone in self._hmacs.keys() - tokens.keys():
            del self._by_hmac[self._hmacs.pop(gone)]
        for new in tokens.keys() - self._hmacs.keys():
            made = self._hmacs[new] = self.hmac(new)
            self._by_hmac[made] = new
        self._ids = tokens
