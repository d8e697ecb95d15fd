"""The address of a caller whose write a follower forwards.

ACLs may name hosts, so the leader must judge the address of the caller and not that of the
follower. Any caller can write a header with an address, so the follower *seals* it: with a key that
is made from the secret with which the instances log in at the brokers. A client that has this
secret can do everything that the registry can, so it gains nothing. A seal holds for some minutes
and for one ``Authorization``.

Instances that have no secret in common, such as those with a Kerberos ticket each, cannot seal.
Then the leader judges the address of the follower, which has judged that of the caller: a write
succeeds only if both may make it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Final

from starlette.requests import Request

HEADER: Final = "x-barnabas-caller"
# The clocks of instances may differ, and a write may wait for the end of an election.
AGE_SECONDS_MAX: Final = 300
SECONDS_DIGITS_MAX: Final = 12
_SECRETS: Final = ("sasl.password", "sasl.oauthbearer.client.secret")
# About 50 ms, once: a seal that is read on its way must not give a weak password away.
_SCRYPT_COST: Final = 2**14


class AddressSeal:
    def __init__(self, user: str, secret: str, now: Callable[[], float] = time.time) -> None:
        salt = f"barnabas registry caller {user}".encode()
        self._key = hashlib.scrypt(secret.encode(), salt=salt, n=_SCRYPT_COST, r=8, p=1)
        self._now = now

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> AddressSeal | None:
        """``properties`` are those of the registry's own client; None if they have no secret."""
        secret = next((properties[name] for name in _SECRETS if properties.get(name)), None)
        user = properties.get("sasl.username") or properties.get("sasl.oauthbearer.client.id") or ""
        return cls(user, secret) if secret is not None else None

    def header(self, request: Request) -> tuple[str, str]:
        """The header of a request that is forwarded."""
        seconds, address = int(self._now()), address_of(request)
        return HEADER, f"{seconds} {self._digest(seconds, address, request)} {address}"

    def opened(self, request: Request) -> str | None:
        """The sealed address; None if there is none, or if no instance has sealed it."""
        seconds, _, rest = request.headers.get(HEADER, "").partition(" ")
        digest, _, address = rest.partition(" ")
        if not (seconds.isascii() and seconds.isdecimal() and len(seconds) <= SECONDS_DIGITS_MAX and digest.isascii()):
            return None
        if not hmac.compare_digest(digest, self._digest(int(seconds), address, request)):
            return None
        return address if abs(self._now() - int(seconds)) <= AGE_SECONDS_MAX else None

    def _digest(self, seconds: int, address: str, request: Request) -> str:
        sealed = json.dumps([seconds, address, request.headers.get("authorization", "")]).encode()
        return hmac.new(self._key, sealed, hashlib.sha256).hexdigest()


def address_of(request: Request) -> str:
    """The address at the other end of the connection."""
    return request.client.host if request.client is not None else ""
