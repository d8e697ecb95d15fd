from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request

from barnabas.registry.caller_address import AGE_SECONDS_MAX, HEADER, AddressSeal

ALICE = "Basic YWxpY2U6cHc="
NOW = 1_700_000_000.0


def request(host: str, authorization: str = ALICE, sealed: str | None = None) -> Request:
    headers = {"authorization": authorization, **({HEADER: sealed} if sealed is not None else {})}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "client": (host, 5), "headers": encoded}
    return Request(scope)


def seal(secret: str = "registry-secret", now: float = NOW) -> AddressSeal:
    return AddressSeal("registry", secret, lambda: now)


SEALED = seal().header(request("10.0.0.9"))[1]


@pytest.mark.parametrize("host", ["10.0.0.9", "2001:db8::1", ""])
def test_the_leader_opens_what_a_follower_has_sealed(host: str) -> None:
    name, sealed = seal().header(request(host))
    assert name == HEADER
    assert seal(now=NOW + 60).opened(request("127.0.0.1", sealed=sealed)) == host


@pytest.mark.parametrize(
    "sealed",
    ["", "10.0.0.9", " ", "  10.0.0.9", "x y z", f"{'9' * 5_000} x y", "1 é y", SEALED.replace("10.0.0.9", "10.0.0.8"), f"1{SEALED}"],
)
def test_an_address_that_no_follower_has_sealed_is_ignored(sealed: str) -> None:
    assert seal().opened(request("127.0.0.1", sealed=sealed)) is None
    assert seal().opened(request("127.0.0.1")) is None


def test_a_seal_is_that_of_one_caller_one_secret_and_some_minutes() -> None:
    assert seal().opened(request("127.0.0.1", "Basic Ym9iOnB3", SEALED)) is None
    assert seal("other-secret").opened(request("127.0.0.1", sealed=SEALED)) is None
    for now in (NOW + AGE_SECONDS_MAX + 1, NOW - AGE_SECONDS_MAX - 1):
        assert seal(now=now).opened(request("127.0.0.1", sealed=SEALED)) is None


def test_instances_seal_with_the_secret_of_their_login() -> None:
    properties = {"sasl.username": "registry", "sasl.password": "registry-secret"}
    made = AddressSeal.of(properties)
    assert made is not None
    assert seal(now=made._now()).opened(request("127.0.0.1", sealed=made.header(request("10.0.0.9"))[1])) == "10.0.0.9"
    assert AddressSeal.of({"sasl.oauthbearer.client.secret": "s"}) is not None
    assert AddressSeal.of({"sasl.mechanism": "GSSAPI"}) is None
