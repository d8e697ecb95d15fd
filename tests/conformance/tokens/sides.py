"""The same requests about delegation tokens to Apache Kafka and to Barnabas, and their answers.

Ids and HMACs differ from broker to broker and are compared by name. Times are compared by their
distance from the moment of the request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenOwner, DescribeDelegationTokenRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.conformance.differential.comparison import plain
from tests.conformance.tokens.logged_in import LoggedIn, with_password
from tests.conformance.tokens.nodes import PASSWORDS
from tests.waiting import until

# Two answers of the same moment, on a machine that is busy.
CLOSE_MS = 30_000
_TIMES = frozenset(
    {"issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "issue_timestamp", "expiry_timestamp", "max_timestamp"}
)


class Side:
    """One of the two brokers, with a connection of each user, and the tokens it has made."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.made: dict[str, Any] = {}
        self._clients: dict[str, LoggedIn] = {}

    def ask(self, user: str, request: Any, version: int) -> Any:
        if user not in self._clients:
            self._clients[user] = with_password(self.address, user, PASSWORDS[user])
        return self._clients[user].ask(request, version)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def compared(self, answer: Any, version: int) -> Any:
        now_ms = time.time() * 1000
        names = {each.token_id: name for name, each in self.made.items()} | {bytes(each.hmac): name for name, each in self.made.items()}

        def seen(value: Any, field: str = "") -> Any:
            match value:
                case dict():
                    return {key: seen(each, key) for key, each in value.items()}
                case list():
                    return sorted((seen(each, field) for each in value), key=repr)
                case int() if field in _TIMES and value > 0:
                    return round((value - now_ms) / CLOSE_MS)
                case _:
                    return names.get(value, value) if isinstance(value, str | bytes) else value

        return seen(plain(answer, version))


class Sides:
    def __init__(self, kafka: str, barnabas: str) -> None:
        self.kafka, self.barnabas = Side(kafka), Side(barnabas)

    def same(self, user: str, request: Callable[[Side], Any], version: int | None = None, *, made: str | None = None) -> Any:
        """Asks both and compares. ``made`` names the token that the request makes."""
        seen = []
        for side in (self.kafka, self.barnabas):
            question = request(side)
            newest = stable_versions(ApiKey(declaration_of(type(question)).key or 0)).highest
            asked = newest if version is None else version
            answer = side.ask(user, question, asked)
            if made is not None:
                side.made[made] = answer
                self._await_token(side, user, answer)
            seen.append(side.compared(answer, asked))
        assert seen[0] == seen[1], f"Kafka answered {seen[0]}, Barnabas {seen[1]}"
        return answer

    @staticmethod
    def _await_token(side: Side, owner: str, token: Any) -> None:
        """Kafka answers before its controller finds the new token by its HMAC."""
        renewal = RenewDelegationTokenRequest(hmac=bytes(token.hmac), renew_period_ms=-1)
        until(lambda: side.ask(owner, renewal, 2).error_code == ErrorCode.NONE, "the token can be renewed")

    def soon_same(self, user: str, request: Callable[[Side], Any], version: int | None = None) -> None:
        """Kafka's broker learns of a change after its controller has answered."""
        until(lambda: (self.same(user, request, version),), "both give the same answer", retry_on=AssertionError)


def creation(*renewers: str, life_ms: int = -1, owner: str = "") -> Callable[[Side], Any]:
    kind, _, name = owner.partition(":")
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind,
        owner_principal_name=name,
        renewers=[CreatableRenewers(principal_type=each.partition(":")[0], principal_name=each.partition(":")[2]) for each in renewers],
        max_lifetime_ms=life_ms,
    )
    return lambda _: request


def renewal(token: str, period_ms: int = -1) -> Callable[[Side], Any]:
    return lambda side: RenewDelegationTokenRequest(hmac=bytes(side.made[token].hmac), renew_period_ms=period_ms)


def expiry(token: str, period_ms: int = -1) -> Callable[[Side], Any]:
    return lambda side: ExpireDelegationTokenRequest(hmac=bytes(side.made[token].hmac), expiry_time_period_ms=period_ms)


def description(*owners: str) -> Callable[[Side], Any]:
    asked = [DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, _, name in (o.partition(":") for o in owners)]
    return lambda _: DescribeDelegationTokenRequest(owners=asked)


def same_for_all(request: Any, _: Side) -> Any:
    return request


def everything(_: Side) -> Any:
    return DescribeDelegationTokenRequest(owners=None)
