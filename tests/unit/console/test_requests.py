"""Paths, bodies, hosts, cookies and sessions, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.types import Message

from barnabas.console.app import COOKIE, ConsoleApp
from barnabas.console.errors import BadValue, Busy
from barnabas.console.limits import FAILED_LOGIN_SECONDS, FAILED_LOGINS_MAX, SESSION_IDLE_SECONDS, SESSION_SECONDS
from barnabas.console.services import Services
from barnabas.console.settings import ClusterSettings, ConsoleSettings
from barnabas.console.web.bodies import read_form, read_json, read_parts
from barnabas.console.web.call import Call, page_url
from barnabas.console.web.hosts import is_known_host, is_same_site
from barnabas.console.web.operation import Changed, Operation, view
from barnabas.console.web.router import Router, split_path
from barnabas.console.web.sessions import FailedLogins, Login, Sessions
from barnabas.console.web.signing import Signer
from barnabas.telemetry.logs import EventLog
from tests.unit import simulated


async def _nothing(call: Call) -> None: ...


def _find(router: Router, path: str) -> Any:
    segments = split_path(path.encode())
    assert segments is not None
    found = router.find("GET", segments)
    return None if found is None else (found[0].name, found[1])


def test_a_literal_part_of_a_path_wins_over_a_placeholder_and_parts_may_have_slashes() -> None:
    router = Router([view("one", "/topics/{topic}", _nothing, summary=""), view("new", "/topics/new", _nothing, summary="")])
    assert _find(router, "/topics/new") == ("new", {})
    assert _find(router, "/topics/a%2Fb%3F") == ("one", {"topic": "a/b?"})
    assert _find(router, "/topics") is None
    assert page_url("topics", "a/b?", search="x y", flag=True, none=None) == "/topics/a%2Fb%3F?search=x%20y&flag=true"


def test_a_path_that_is_no_utf_8_or_too_long_is_refused() -> None:
    assert split_path(b"/topics/%ff") is None
    assert split_path(b"/a" * 40) is None


def test_bodies_are_json_forms_and_forms_with_files() -> None:
    assert read_json(b'{"a": [1]}') == {"a": [1]}
    assert read_form(b"a=1&b=2&b=3&c=") == {"a": "1", "b": ["2", "3"], "c": ""}
    head = b"--x\r\nContent-Disposition: form-data; "
    parts = head + b'name="a"\r\n\r\nline\r\n\r\nline\r\n' + head + b'name="f"; filename="b"\r\n\r\n\xc3\xa4\r\n--x--\r\n'
    assert read_parts(parts, "multipart/form-data; boundary=x") == {"a": "line\r\n\r\nline", "f": "ä"}


@pytest.mark.parametrize("data", [b"[1]", b"{", b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(BadValue):
        read_json(data)


@pytest.mark.parametrize(
    ("host", "known"), [("localhost:1", True), ("127.0.0.1", True), ("[::1]:80", True), ("evil.example", False), ("", False)]
)
def test_a_console_on_loopback_knows_its_names(host: str, known: bool) -> None:
    assert is_known_host(host, listens_on="127.0.0.1", public_hosts=()) is known
    assert is_known_host(host, listens_on="10.0.0.1", public_hosts=())


def test_a_public_host_of_a_proxy_is_known() -> None:
    assert is_known_host("console.example", listens_on="127.0.0.1", public_hosts=("console.example",))


def test_a_change_of_a_browser_comes_from_the_same_site() -> None:
    assert is_same_site("same-origin", "http://localhost:1", "localhost:1")
    assert is_same_site(None, None, "localhost:1")
    assert not is_same_site("cross-site", None, "localhost:1")
    assert not is_same_site(None, "http://evil.example", "localhost:1")
    assert not is_same_site(None, "null", "localhost:1")


def test_a_cookie_and_a_token_are_worth_nothing_when_changed_or_swapped() -> None:
    signer, other = Signer(b"k" * 32), Signer(b"o" * 32)
    cookie = signer.cookie("a" * 32)
    assert signer.session_id(cookie) == "a" * 32
    assert signer.session_id(cookie.replace("a", "b", 1)) is None
    assert other.session_id(cookie) is None
    assert signer.is_token("a" * 32, signer.token("a" * 32))
    assert not signer.is_token("a" * 32, cookie.partition(".")[2])
    assert not signer.is_token("a" * 32, "ä")
    assert not signer.is_token("a" * 32, "\ud800")


def test_a_session_ends_when_it_is_idle_or_old_and_makes_room() -> None:
    now = 0.0
    ids = iter(f"id{number}" for number in range(10))
    sessions = Sessions(lambda: next(ids), lambda: now, sessions_max=2)
    first = sessions.start()
    now += SESSION_IDLE_SECONDS - 1
    assert sessions.find(first.id) is first
    now += SESSION_IDLE_SECONDS + 1
    assert sessions.find(first.id) is None
    kept, idle = sessions.start(), sessions.start()
    kept.logins["c"] = None  # type: ignore[assignment]
    third = sessions.start()
    assert [sessions.find(each.id) for each in (kept, idle, third)] == [kept, None, third]
    started = now
    while now - started <= SESSION_SECONDS:
        assert sessions.find(kept.id) is kept
        now += SESSION_IDLE_SECONDS - 1
    assert sessions.find(kept.id) is None


def test_a_request_in_flight_learns_neither_the_new_id_nor_the_new_login_of_its_session() -> None:
    ids = iter(["before", "after"])
    sessions = Sessions(lambda: next(ids), lambda: 0.0)
    planted = sessions.start()
    planted.logins["a"] = Login("User:mallory", {})
    renewed = sessions.renew(planted)
    renewed.logins["b"] = Login("User:alice", {})
    assert sessions.find("before") is None
    assert sessions.find("after") is renewed
    assert (planted.id, list(planted.logins), list(renewed.logins)) == ("before", ["a"], ["a", "b"])


def test_a_request_that_is_overtaken_by_a_login_gets_no_cookie_of_it() -> None:
    services = Services(ConsoleSettings((ClusterSettings("a", "k:1"),)), EventLog("FATAL"))
    logged_in = asyncio.Event()

    async def log_in(call: Call) -> Changed:
        call.session = services.sessions.renew(call.session)
        logged_in.set()
        return Changed("Done.", "/")

    app = ConsoleApp(services, (Operation("log_in", "POST", "/login", log_in, "", needs_session=False),))
    planted = services.sessions.start().id

    async def post(body: Callable[[], Awaitable[bytes]]) -> dict[str, str]:
        cookie, token = services.signer.cookie(planted), services.signer.token(planted)
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": await body()}

        async def send(message: Message) -> None:
            sent.append(message)

        headers = {"host": "localhost", "cookie": f"{COOKIE}={cookie}", "x-csrf-token": token, "content-type": "application/json"}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/api/login", "query_string": b"", "headers": pairs}
        await app(scope, receive, send)
        return {name.decode(): value.decode() for name, value in sent[0]["headers"]}

    async def after_the_login() -> bytes:
        await logged_in.wait()
        return b"[]"  # no object, so the request is refused

    async def at_once() -> bytes:
        return b"{}"

    async def scenario() -> tuple[dict[str, str], dict[str, str]]:
        overtaken = asyncio.create_task(post(after_the_login))
        await asyncio.sleep(0)
        victim = await post(at_once)
        return await overtaken, victim

    try:
        attacker, victim = simulated.run(scenario())
    finally:
        services.close()
    assert COOKIE in victim["set-cookie"]
    assert "set-cookie" not in attacker


def _fail(failed: FailedLogins, address: str, credentials: str) -> None:
    with failed.attempt(address, credentials):
        failed.add(address)


def test_failed_logins_block_an_address_for_a_minute() -> None:
    now = 0.0
    failed = FailedLogins(lambda: now, addresses_max=2)
    for number in range(FAILED_LOGINS_MAX):
        _fail(failed, "a", f"guess {number}")
    with pytest.raises(Busy):
        _fail(failed, "a", "one more guess")
    _fail(failed, "b", "a guess")
    now += FAILED_LOGIN_SECONDS
    _fail(failed, "a", "a guess")


def test_logins_in_flight_count_before_they_fail_and_the_same_one_counts_once() -> None:
    failed = FailedLogins(lambda: 0.0, addresses_max=2)
    with ExitStack() as in_flight:
        for number in range(FAILED_LOGINS_MAX):
            in_flight.enter_context(failed.attempt("a", f"guess {number}"))
        with pytest.raises(Busy):
            in_flight.enter_context(failed.attempt("a", "one more guess"))
        in_flight.enter_context(failed.attempt("b", "a guess"))
    with ExitStack() as in_flight:
        for _ in range(10 * FAILED_LOGINS_MAX):
            in_flight.enter_context(failed.attempt("a", "a program with one password"))
