"""The rules of access: tokens, hosts, read-only mode, the guard of production, logins, headers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.catalogue import OPERATIONS
from barnabas.console.settings import ClusterSettings, ConsoleSettings, LoginMode, check
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of

_WITHOUT_USER = ("sasl.username", "sasl.password", "bootstrap.servers")


def _secured(broker: EmbeddedBroker) -> ClusterSettings:
    properties = {name: value for name, value in broker.client_settings.items() if name not in _WITHOUT_USER}
    return ClusterSettings("secured", broker.bootstrap, properties)


@pytest.fixture(scope="module")
def guarded(secure_broker: EmbeddedBroker) -> Iterator[ConsoleThread]:
    with console_of(_secured(secure_broker), login=LoginMode.USERS) as started:
        yield started


def test_a_change_without_the_token_of_its_session_is_refused(client: ConsoleClient, new_name: str) -> None:
    answer = client.http.post("/api/clusters/local/topics", json={"name": new_name})
    assert answer.status_code == 403
    answer = client.http.post("/clusters/local/topics", data={"name": new_name, "csrf_token": "0" * 64})
    assert answer.status_code == 403
    assert client.get("/clusters/local/topics", search=new_name)["page"]["total"] == 0


def test_a_change_from_a_page_of_another_site_is_refused_even_with_a_token(client: ConsoleClient, new_name: str) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        answer = client.http.post("/api/clusters/local/topics", json={"name": new_name}, headers={"X-CSRF-Token": client.token, **headers})
        assert answer.status_code == 403


def test_a_host_name_that_only_resolves_to_loopback_is_refused(client: ConsoleClient) -> None:
    assert client.http.get("/api/clusters", headers={"Host": "evil.example"}).status_code == 403
    assert client.http.get("/api/clusters", headers={"Host": "localhost:1234"}).status_code == 200


def test_every_answer_has_the_security_headers_and_a_page_has_nothing_inline(client: ConsoleClient) -> None:
    for path in ("/clusters", "/api/clusters", "/static/console.css", "/nothing"):
        headers = client.http.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    for path in ("/clusters", "/clusters/local", "/clusters/local/topics", "/clusters/local/topics/new"):
        page = client.page(path)
        assert " style=" not in page
        assert "<style" not in page
        assert "<script>" not in page
        assert " onclick=" not in page


def test_the_cookie_is_signed_and_not_for_scripts(client: ConsoleClient, console: ConsoleThread) -> None:
    import httpx

    cookie = httpx.get(f"{console.url}/clusters", timeout=60).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    value = client.http.cookies["barnabas_console"]
    forged = httpx.get(f"{console.url}/api/session", cookies={"barnabas_console": value[:-1] + ("0" if value[-1] != "0" else "1")})
    assert forged.json()["csrf_token"] != client.token


def test_a_read_only_console_refuses_changes_and_shows_no_forms(broker: EmbeddedBroker, new_name: str) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap), read_only=True) as console:
        client = console.client()
        answer = client.try_post("/clusters/local/topics", name=new_name)
        assert (answer.status_code, answer.json()["error"]) == (403, "The console is read-only.")
        assert "New topic" not in client.page("/clusters/local/topics")


def test_a_change_of_a_production_cluster_needs_its_name(broker: EmbeddedBroker, new_name: str) -> None:
    with console_of(ClusterSettings("live", broker.bootstrap, production=True)) as console:
        client = console.client()
        refused = client.try_post("/clusters/live/topics", name=new_name)
        assert (refused.status_code, refused.json()["parameter"]) == (400, "confirm")
        client.post("/clusters/live/topics", name=new_name, confirm="live")
        assert 'name="confirm"' in client.page("/clusters/live/topics/new")


def test_every_change_is_in_the_audit_log_whether_done_or_refused(broker: EmbeddedBroker, new_name: str, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with console_of(ClusterSettings("local", broker.bootstrap), audit_file=str(file)) as console:
        client = console.client()
        client.post("/clusters/local/topics", name=new_name)
        client.try_post("/clusters/local/topics", name=new_name)
        entries = client.get("/audit")["entries"]
        assert [each["operation"] for each in entries] == ["create_topic", "create_topic"]
        assert entries[1]["outcome"] == "done"
        assert entries[0]["outcome"].startswith("Cannot create topic")
        assert entries[0]["parameters"]["name"] == new_name
        assert entries[0]["address"] == "127.0.0.1"
        assert [json.loads(line)["outcome"] for line in file.read_text().splitlines()] == [entries[1]["outcome"], entries[0]["outcome"]]
        assert new_name in client.page("/audit")


def test_a_console_on_another_address_does_not_start_without_a_login() -> None:
    cluster = ClusterSettings("local", "127.0.0.1:9092")
    with pytest.raises(SettingsRefused, match="has no login"):
        check(ConsoleSettings((cluster,), host="0.0.0.0"))
    with pytest.raises(SettingsRefused, match="has no logins"):
        check(ConsoleSettings((cluster,), host="0.0.0.0", login=LoginMode.USERS))
    for host in ("127.0.0.1", "localhost", "::1"):
        check(ConsoleSettings((cluster,), host=host))


def test_a_page_leads_to_the_login_and_back(guarded: ConsoleThread, secure_broker: EmbeddedBroker) -> None:
    client = guarded.client()
    answer = client.http.get("/clusters/secured/topics?search=a")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?cluster=secured&next=%2Fclusters%2Fsecured%2Ftopics%3Fsearch%3Da"
    assert client.http.get("/api/clusters/secured/topics").status_code == 401
    settings = secure_broker.client_settings
    form = {"cluster": "secured", "user": settings["sasl.username"], "password": settings["sasl.password"], "csrf_token": client.token}
    answer = client.http.post("/login", data={**form, "next": "/clusters/secured/topics?search=a"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters/secured/topics?search=a")
    answer = client.http.get("/clusters/secured/topics?search=a")
    assert answer.status_code == 200
    assert "User:admin" in answer.text


def test_a_login_never_leads_to_another_site(guarded: ConsoleThread, secure_broker: EmbeddedBroker) -> None:
    settings = secure_broker.client_settings
    for address in ("https://evil.example/", "//evil.example/", "/\\evil.example"):
        client = guarded.client()
        form = {"cluster": "secured", "user": settings["sasl.username"], "password": settings["sasl.password"], "csrf_token": client.token}
        assert client.http.post("/login", data={**form, "next": address}).headers["location"] == "/clusters"


def test_a_wrong_password_is_refused_and_guesses_are_slowed_down(secure_broker: EmbeddedBroker) -> None:
    with console_of(_secured(secure_broker), login=LoginMode.USERS) as console:
        client = console.client()
        statuses = [client.log_in("secured", "admin", f"wrong-{number}").status_code for number in range(11)]
        assert statuses == [401] * 10 + [429]
        page = client.http.post("/login", data={"cluster": "secured", "user": "admin", "password": "wrong", "csrf_token": client.token})
        assert "Too many logins" in page.text


def test_the_console_acts_as_the_principal_that_is_logged_in(guarded: ConsoleThread, secure_broker: EmbeddedBroker, new_name: str) -> None:
    admin, alice = guarded.client(), guarded.client()
    settings = secure_broker.client_settings
    assert admin.log_in("secured", settings["sasl.username"], settings["sasl.password"]).status_code == 200
    admin.post("/clusters/secured/topics", name=new_name)
    alice_settings = secure_broker.add_user("alice")
    assert alice.log_in("secured", "alice", alice_settings["sasl.password"]).status_code == 200
    assert alice.get("/clusters/secured/topics", search=new_name)["page"]["total"] == 0
    denied = alice.try_post("/clusters/secured/topics", name=f"{new_name}-2")
    assert denied.status_code == 403
    secure_broker.allow("alice", "Describe", topic=new_name)
    alice.http.post("/api/logout", headers={"X-CSRF-Token": alice.token})
    assert alice.http.get("/api/clusters/secured/topics").status_code == 401
    alice.token = alice.http.get("/api/session").json()["csrf_token"]
    alice.log_in("secured", "alice", alice_settings["sasl.password"])
    assert alice.get("/clusters/secured/topics", search=new_name)["page"]["total"] == 1


def test_a_program_logs_in_with_http_basic_and_needs_no_token(guarded: ConsoleThread, secure_broker: EmbeddedBroker, new_name: str) -> None:
    import httpx

    settings = secure_broker.client_settings
    login = (settings["sasl.username"], settings["sasl.password"])
    answer = httpx.post(f"{guarded.url}/api/clusters/secured/topics", json={"name": new_name}, auth=login, timeout=60)
    assert answer.status_code == 200, answer.text
    assert httpx.get(f"{guarded.url}/api/clusters/secured/topics", auth=("admin", "wrong"), timeout=60).status_code == 401


def test_http_basic_is_a_login_at_one_cluster_and_at_no_other(secure_broker: EmbeddedBroker, new_name: str) -> None:
    import httpx

    first = _secured(secure_broker)
    settings = secure_broker.client_settings
    with console_of(first, replace(first, name="other"), login=LoginMode.USERS) as console:
        login = settings["sasl.username"], settings["sasl.password"]
        with httpx.Client(base_url=f"{console.url}/api", auth=login, timeout=60) as program:
            health = {each["name"]: each["health"] for each in program.get("/clusters").json()["clusters"]}
            assert (health["secured"] != "login", health["other"]) == (True, "login")
            for cluster in ("secured", "other"):
                assert program.post(f"/clusters/{cluster}/topics", json={"name": f"{new_name}-{cluster}"}).status_code == 200
            seen = [each["parameters"]["name"] for each in program.get("/audit").json()["entries"]]
            assert seen == [f"{new_name}-secured"]


def test_the_session_of_a_cookie_does_not_count_beside_http_basic(secure_broker: EmbeddedBroker) -> None:
    first = _secured(secure_broker)
    settings = secure_broker.client_settings
    login = settings["sasl.username"], settings["sasl.password"]
    with console_of(first, replace(first, name="other"), login=LoginMode.USERS) as console:
        client = console.client()
        assert client.log_in("other", *login).status_code == 200
        assert client.http.get("/api/session").json()["principals"] == {"other": "User:admin"}
        assert client.http.get("/api/session", auth=login).json()["principals"] == {"secured": "User:admin"}


def test_guesses_at_the_same_time_are_slowed_down_too(secure_broker: EmbeddedBroker) -> None:
    with console_of(_secured(secure_broker), login=LoginMode.USERS) as console, ThreadPoolExecutor(30) as browsers:
        clients = [console.client() for _ in range(30)]
        answers = browsers.map(lambda number: clients[number].log_in("secured", "admin", f"wrong-{number}").status_code, range(30))
        assert Counter(answers) == {401: 10, 429: 20}


def test_halves_of_surrogate_pairs_reach_pages_as_escapes(broker: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap)) as console:
        operation = next(each for each in OPERATIONS if each.name == "create_topic")
        told = {"principal": "p", "address": "", "agent": "", "cluster": "local", "outcome": "odd \ud800"}
        console.services.audit.write(operation, {}, **told)
        assert "odd \\ud800" in console.client().page("/audit")


def test_a_password_that_was_changed_opens_no_session_though_a_connection_is_open(
    guarded: ConsoleThread, secure_broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    monkeypatch.setattr("barnabas.console.web.access_rules.BASIC_LOGIN_SECONDS", 0.0)

    def basic(password: str) -> int:
        return httpx.get(f"{guarded.url}/api/clusters/secured/topics", auth=("dora", password), timeout=60).status_code

    old = secure_broker.add_user("dora")["sasl.password"]
    assert guarded.client().log_in("secured", "dora", old).status_code == 200
    assert basic(old) == 200
    new = secure_broker.add_user("dora", f"{old}-2")["sasl.password"]
    AdminClient({**secure_broker.settings_of("dora")}).list_topics(timeout=60)
    assert (guarded.client().log_in("secured", "dora", old).status_code, basic(old)) == (401, 401)
    assert (guarded.client().log_in("secured", "dora", new).status_code, basic(new)) == (200, 200)


def test_the_openapi_document_describes_every_operation(client: ConsoleClient) -> None:
    document = client.http.get("/api/openapi.json").json()
    described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert described == {(f"/api{each.path}", each.method) for each in OPERATIONS}
    topics = document["paths"]["/api/clusters/{cluster}/topics"]["get"]
    assert {"search", "page", "size"} <= {each["name"] for each in topics["parameters"]}
    references = json.dumps(document).split('"$ref": "#/components/schemas/')[1:]
    assert {each.partition('"')[0] for each in references} <= document["components"]["schemas"].keys()


def test_a_bug_is_answered_without_its_details() -> None:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    import httpx

    from barnabas.console.app import ConsoleApp
    from barnabas.console.services import Services
    from barnabas.console.web.call import Call
    from barnabas.console.web.operation import view
    from barnabas.telemetry.logs import EventLog

    async def broken(call: Call) -> None:
        raise RuntimeError("secret detail")

    async def ask(path: str) -> httpx.Response:
        services = Services(ConsoleSettings((ClusterSettings("a", "127.0.0.1:1"),)), EventLog("FATAL"))
        app = ConsoleApp(services, (view("broken", "/broken", broken, summary="Fails.", page="error.html"),))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
            return await client.get(path)

    for path in ("/broken", "/api/broken"):
        # The loop of a browser that another test started may occupy this thread.
        with ThreadPoolExecutor(1) as other_thread:
            answer = other_thread.submit(asyncio.run, ask(path)).result()
        assert answer.status_code == 500
        assert "The console has a bug" in answer.text
        assert "secret" not in answer.text
