"""Delegation tokens: the same requests to Apache Kafka and to Barnabas, the same answers.

Ids and HMACs differ from broker to broker and are compared by name. Times are compared by their
distance from the moment of the request.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenOwner, DescribeDelegationTokenRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.conformance.differential.comparison import plain
from tests.conformance.tokens.conftest import Both
from tests.conformance.tokens.logged_in import LoggedIn, LoginRefused, with_password, with_token
from tests.conformance.tokens.nodes import DAY_MS, PASSWORDS, SECRET_KEY
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
    def __init__(self, both: Both) -> None:
        self.kafka, self.barnabas = Side(both.kafka), Side(both.barnabas)

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


@pytest.fixture
def sides(both: Both) -> Iterator[Sides]:
    sides = Sides(both)
    yield sides
    sides.kafka.close()
    sides.barnabas.close()


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


def _same_for_all(request: Any, _: Side) -> Any:
    return request


def _everything(_: Side) -> Any:
    return DescribeDelegationTokenRequest(owners=None)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("life_ms", [-1, 0, 5 * 60_000, 2 * DAY_MS, 8 * DAY_MS, 2**63 - 1])
def test_create_delegation_token_bounds_the_life(sides: Sides, version: int, life_ms: int) -> None:
    request = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=life_ms)
    made = sides.same("alice", lambda _: request, version, made="it")
    assert made.error_code == ErrorCode.NONE
    for side in (sides.kafka, sides.barnabas):
        assert side.made["it"].hmac == hmac.digest(SECRET_KEY.encode(), side.made["it"].token_id.encode(), "sha512")
    sides.same("alice", expiry("it"))


@pytest.mark.parametrize("renewers", [["Group:staff"], ["User:bob", "group:x"], ["user:bob"], [":bob"]], ids=str)
def test_create_delegation_token_takes_users_as_renewers_only(sides: Sides, renewers: list[str]) -> None:
    assert sides.same("alice", creation(*renewers)).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_create_delegation_token_in_the_name_of_oneself(sides: Sides) -> None:
    assert sides.same("alice", creation(owner="User:alice"), made="own").error_code == ErrorCode.NONE
    sides.same("alice", expiry("own"))


def test_create_delegation_token_in_the_name_of_another_user_without_an_authorizer(sides: Sides) -> None:
    request = creation(owner="User:carol")
    for side in (sides.kafka, sides.barnabas):
        side.made["carols"] = side.ask("alice", request(side), 3)
    sides.soon_same("carol", renewal("carols"))
    assert sides.same("alice", renewal("carols")).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    sides.same("alice", description("User:alice"))
    sides.same("carol", expiry("carols"))


def test_renew_delegation_token_extends_up_to_the_maximum(sides: Sides) -> None:
    sides.same("alice", creation("User:bob", life_ms=10 * 60_000), made="short")
    sides.same("alice", creation("User:bob"), made="long")
    for token in ("short", "long"):
        for period_ms in (-1, 0, 3 * 60_000, 2 * DAY_MS, 2**63 - 1):
            sides.soon_same("alice", renewal(token, period_ms))
        sides.same("bob", renewal(token))
        assert sides.same("carol", renewal(token)).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert sides.same("alice", renewal(token), 1).error_code == ErrorCode.NONE
        sides.same("alice", expiry(token))


def test_renew_and_expire_delegation_token_of_an_unknown_hmac(sides: Sides) -> None:
    for unknown in (b"", b"nothing", bytes(64)):
        renewal, expiry = (
            RenewDelegationTokenRequest(hmac=unknown, renew_period_ms=-1),
            ExpireDelegationTokenRequest(hmac=unknown, expiry_time_period_ms=-1),
        )
        for request in (renewal, expiry):
            sides.same("alice", partial(_same_for_all, request))


def test_expire_delegation_token_sets_an_expiry_or_removes(sides: Sides) -> None:
    sides.same("alice", creation("User:bob"), made="it")
    sides.soon_same("alice", expiry("it", 60_000))
    sides.soon_same("alice", expiry("it", 10 * DAY_MS))
    sides.same("bob", expiry("it", 5 * 60_000), 1)
    assert sides.same("carol", expiry("it")).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert sides.same("bob", expiry("it")).error_code == ErrorCode.NONE
    sides.soon_same("alice", expiry("it"))
    sides.soon_same("alice", renewal("it"))


def test_an_expired_delegation_token_cannot_be_renewed_but_removed(sides: Sides) -> None:
    sides.same("alice", creation("User:bob"), made="it")
    sides.soon_same("alice", expiry("it", 0))
    time.sleep(0.005)  # both brokers read their own clocks
    assert sides.same("carol", renewal("it")).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert sides.same("alice", expiry("it", 60_000)).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert sides.same("carol", expiry("it", 60_000)).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert sides.same("alice", expiry("it")).error_code == ErrorCode.NONE


def test_describe_delegation_token_shows_all_tokens_without_an_authorizer(sides: Sides) -> None:
    sides.same("alice", creation("User:bob"), made="alices")
    sides.same("bob", creation("User:carol", "User:alice"), made="bobs")
    sides.same("carol", creation(), made="carols")
    for user in ("alice", "bob", "carol", "admin"):
        sides.soon_same(user, _everything)
        sides.same(user, description())
        for owners in (["User:alice"], ["User:bob"], ["User:carol", "User:bob"], ["User:nobody"], ["Group:alice"]):
            sides.same(user, description(*owners))
    for version in (1, 2):
        sides.same("alice", _everything, version)
    for token, user in (("alices", "alice"), ("bobs", "bob"), ("carols", "carol")):
        sides.same(user, expiry(token))


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_a_client_with_a_token_may_not_ask_for_tokens(sides: Sides, mechanism: ScramMechanism) -> None:
    sides.same("alice", creation("User:alice"), made="it")
    sessions = []
    for side in (sides.kafka, sides.barnabas):
        token = side.made["it"]

        def log_in(side: Side = side, token: Any = token) -> LoggedIn:
            return with_token(side.address, token.token_id, bytes(token.hmac), mechanism)

        sessions.append((side, until(log_in, "the broker knows the token", retry_on=LoginRefused)))
    for request in (creation("Group:x"), renewal("it"), expiry("it"), _everything):
        kafka, barnabas = (side.compared(session.ask(request(side), 2), 2) for side, session in sessions)
        assert kafka == barnabas
        assert barnabas["error_code"] == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    lifetimes = [round((session.session_lifetime_ms - DAY_MS) / CLOSE_MS) for _, session in sessions]
    assert lifetimes == [0, 0], "the session ends with the token"
    assert [session.ask(MetadataRequest(topics=[]), 12).error_code for _, session in sessions] == [0, 0]
    for _, session in sessions:
        session.close()
    sides.same("alice", expiry("it"))


def test_login_with_a_wrong_token_gets_the_same_answer(sides: Sides) -> None:
    sides.same("alice", creation(), made="it")
    answers = []
    for side in (sides.kafka, sides.barnabas):
        for token_id, hmac_ in ((side.made["it"].token_id, b"wrong"), ("unknown", bytes(side.made["it"].hmac))):
            with pytest.raises(LoginRefused) as refused:
                with_token(side.address, token_id, hmac_)
            answers.append(str(refused.value))
    assert len(set(answers)) == 1, answers
    sides.same("alice", expiry("it"))
