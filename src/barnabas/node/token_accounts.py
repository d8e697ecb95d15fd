"""Delegation tokens as accounts of SCRAM: the user name is the token's id, and the password is its
HMAC.

Kafka derives the SCRAM keys of every token when its record arrives. Deriving takes milliseconds by
intention, so here it is done at the first login with a token, and the keys are kept.
"""

from __future__ import annotations

from barnabas.metadata.applier import MetadataView
from barnabas.security.delegation_tokens import token_password, token_principal
from barnabas.security.sasl.scram import Account
from barnabas.security.sasl.scram_credentials import ITERATIONS_MIN, ScramKeys, ScramMechanism, keys_of

# Tokens whose keys are kept, oldest login out first: about two megabytes. A login with another one
# only takes longer.
KEPT_MAX = 10_000


class TokenAccounts:
    def __init__(self, mechanism: ScramMechanism, metadata: MetadataView, secret_key: str | None, salting: bytes) -> None:
        """``salting`` is a secret of this node. The salts of tokens are made from it, so that a
        second login with a token gets the same one."""
        self._mechanism = mechanism
        self._metadata = metadata
        self._secret_key = secret_key
        self._salting = salting
        self._kept: dict[str, ScramKeys] = {}

    def find(self, token_id: str) -> Account | None:
        token = self._metadata.image.delegation_tokens.by_id.get(token_id)
        if token is None or self._secret_key is None:
            return None
        keys = self._kept.get(token_id) or self._derived(token_id, self._secret_key)
        expires_ms = min(token.expiration_timestamp, token.max_timestamp)
        return Account(keys, token_principal(token), exists=True, expires_ms=expires_ms)

    def _derived(self, token_id: str, secret_key: str) -> ScramKeys:
        mechanism = self._mechanism
        salt = mechanism.mac(self._salting, b"token:" + token_id.encode())
        salted = mechanism.salted(token_password(secret_key, token_id), salt, ITERATIONS_MIN)
        if len(self._kept) == KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        keys = self._kept[token_id] = keys_of(mechanism, salted, salt, ITERATIONS_MIN)
        return keys
