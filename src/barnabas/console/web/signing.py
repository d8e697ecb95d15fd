"""Signed cookies, and tokens against forged requests.

A cookie is ``ID.SIGNATURE``. A token is a signature of the same id for another purpose, so neither
gives the other away. The key lives as long as the process: a restart ends all sessions.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from typing import Final

_COOKIE: Final = re.compile(r"([A-Za-z0-9_-]{20,64})\.([0-9a-f]{64})")


class Signer:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def cookie(self, session_id: str) -> str:
        return f"{session_id}.{self._signed('session', session_id)}"

    def session_id(self, cookie: str) -> str | None:
        """The id of an authentic cookie."""
        found = _COOKIE.fullmatch(cookie)
        if found is None or not hmac.compare_digest(found[2], self._signed("session", found[1])):
            return None
        return found[1]

    def token(self, session_id: str) -> str:
        return self._signed("change", session_id)

    def is_token(self, session_id: str, given: str) -> bool:
        # A token of JSON may have halves of surrogate pairs.
        return hmac.compare_digest(given.encode(errors="replace"), self.token(session_id).encode())

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), sha256).hexdigest()
