"""Logins by an identity provider and by a proxy: brokers see the person, and not the console."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.settings import ClusterSettings, ConsoleSettings, HeaderSettings, LoginMode, check
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient, ConsoleThread
from tests.console.oidc_provider import OidcProvider, console_with_oidc, oidc_provider
from tests.scenarios.security.identity_provider import bearer_settings, identity_provider
from tests.scenarios.security.test_oauthbearer import LISTENERS, NAMES

PROXY_HEADER = "X-Forwarded-User"


@pytest.fixture(scope="module")
def provider_and_broker() -> Iterator[tuple[OidcProvider, EmbeddedBroker]]:
    with (
        identity_provider() as tokens,
        oidc_provider(tokens) as provider,
        EmbeddedBroker(config=LISTENERS | bearer_settings(tokens, *NAMES)) as broker,
    ):
        yield provider, broker


@pytest.fixture
def oidc_console(provider_and_broker: tuple[OidcProvider, EmbeddedBroker]) -> Iterator[ConsoleThread]:
    provider, broker = provider_and_broker
    provider.id_changes, provider.lifetime_seconds, provider.offers_refresh, provider.rotates = {}, None, False, True
    with console_with_oidc(provider, broker) as console:
        yield console


def _log_in(client: ConsoleClient, next_page: str = "/clusters") -> httpx.Response:
    """As a browser does: from the console to the provider, and back with a code."""
    to_provider = client.http.get("/login/oidc", params={"next": next_page})
    assert to_provider.status_code == 303
    back = httpx.get(to_provider.headers["location"], timeout=60)
    parts = urlsplit(back.headers["location"])
    return client.http.get(f"{parts.path}?{parts.query}")


def test_a_person_logs_in_at_the_provider_and_brokers_get_the_token(oidc_console: ConsoleThread) -> None:
    client = oidc_console.client()
    assert client.http.get("/clusters/tokens/topics").headers["location"].startswith("/login?cluster=tokens")
    assert "Log in at 127.0.0.1" in client.page("/login")
    answer = _log_in(client, "/clusters/tokens/topics")
    assert (answer.status_code, answer.headers["location"]) == (303, "/clusters/tokens/topics")
    assert "User:alice" in client.page("/clusters/tokens/topics")
    client.token = client.get("/session")["csrf_token"]
    client.post("/clusters/tokens/topics", name="of-alice")
    client.post("/clusters/tokens/topics/of-alice/records", value="sent with a token")
    assert client.get("/audit")["entries"][0]["principal"] == "User:alice"
    client.http.post("/api/logout", headers={"X-CSRF-Token": client.token})
    assert client.http.get("/api/clusters/tokens/topics").status_code == 401


def test_a_cluster_that_takes_tokens_only_has_no_login_with_a_password(oidc_console: ConsoleThread) -> None:
    client = oidc_console.client()
    assert 'name="password"' not in client.page("/login")
    refused = client.log_in("tokens", "alice", "secret")
    assert (refused.status_code, refused.json()["error"]) == (403, "The cluster tokens has no logins with a password.")


def test_a_code_of_another_session_or_a_forged_state_is_refused(oidc_console: ConsoleThread) -> None:
    victim, attacker = oidc_console.client(), oidc_console.client()
    to_provider = attacker.http.get("/login/oidc")
    back = urlsplit(httpx.get(to_provider.headers["location"], timeout=60).headers["location"])
    answer = victim.http.get(f"{back.path}?{back.query}")
    assert answer.status_code == 403
    assert "did not begin here" in answer.text
    victim.http.get("/login/oidc")
    assert victim.http.get(f"{back.path}?{back.query}").status_code == 403


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"aud": "another"}, "for another client"),
        ({"iss": "http://evil.example"}, "of another issuer"),
        ({"exp": 1}, "has expired"),
        ({"nonce": "other"}, "of another login"),
        ({"sub": None}, "no claim sub"),
    ],
)
def test_an_id_token_that_is_not_for_this_login_is_refused(
    oidc_console: ConsoleThread, provider_and_broker: tuple[OidcProvider, EmbeddedBroker], change: dict[str, object], sentence: str
) -> None:
    provider_and_broker[0].id_changes = change
    client = oidc_console.client()
    answer = _log_in(client)
    assert answer.status_code == 403
    assert sentence in answer.text
    assert client.http.get("/api/clusters/tokens/topics").status_code == 401


@pytest.mark.parametrize("rotates", [True, False])
def test_a_session_goes_on_with_its_refresh_token(
    oidc_console: ConsoleThread, provider_and_broker: tuple[OidcProvider, EmbeddedBroker], rotates: bool
) -> None:
    provider = provider_and_broker[0]
    # Tokens that end within half a minute are renewed with every request.
    provider.lifetime_seconds, provider.offers_refresh, provider.rotates = 20, True, rotates
    client = oidc_console.client()
    _log_in(client)
    before = provider.refreshed
    with ThreadPoolExecutor(5) as threads:
        answers = list(threads.map(lambda _: client.http.get("/api/clusters/tokens/topics").status_code, range(10)))
    assert answers == [200] * 10
    assert provider.refreshed >= before + 10
    provider.lifetime_seconds = None
    client.get("/clusters/tokens/topics")
    renewed = provider.refreshed
    client.token = client.get("/session")["csrf_token"]
    client.post("/clusters/tokens/topics", name=f"of-a-renewed-login-{rotates}".lower())
    assert provider.refreshed == renewed


def test_a_refresh_that_the_provider_refuses_ends_the_session_with_a_sentence(
    oidc_console: ConsoleThread, provider_and_broker: tuple[OidcProvider, EmbeddedBroker]
) -> None:
    provider = provider_and_broker[0]
    provider.lifetime_seconds, provider.offers_refresh = 20, True
    client = oidc_console.client()
    _log_in(client)
    client.get("/clusters/tokens/topics")
    provider.refresh_tokens.clear()
    page = client.page("/clusters/tokens/topics")
    assert "Your login has ended. The identity provider does not go on with the login: " in page
    assert "Log in at 127.0.0.1" in page
    refused = client.http.get("/api/clusters/tokens/topics")
    assert (refused.status_code, refused.json()["error"]) == (401, "The console wants a login.")


def test_a_token_without_a_refresh_token_ends_the_session(
    oidc_console: ConsoleThread, provider_and_broker: tuple[OidcProvider, EmbeddedBroker]
) -> None:
    provider_and_broker[0].lifetime_seconds = -5
    client = oidc_console.client()
    _log_in(client)
    refused = client.http.get("/api/clusters/tokens/topics")
    assert (refused.status_code, refused.json()["error"]) == (401, "Your login has ended; please log in again.")


@pytest.fixture(scope="module")
def token_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True, config={"delegation.token.secret.key": "key-of-tokens"}) as started:
        yield started


def _behind_a_proxy(broker: EmbeddedBroker, *trusted: str) -> ConsoleThread:
    properties = {name: value for name, value in broker.client_settings.items() if name != "bootstrap.servers"}
    cluster = ClusterSettings("secured", broker.bootstrap, properties)
    return ConsoleThread(ConsoleSettings((cluster,), login=LoginMode.HEADER, header=HeaderSettings(PROXY_HEADER, trusted)))


def test_a_proxy_names_the_person_and_the_console_acts_as_that_one(token_broker: EmbeddedBroker) -> None:
    token_broker.add_user("carol")
    token_broker.allow("carol", "Describe", "Read", topic="for-carol")
    for name in ("for-carol", "not-for-carol"):
        token_broker.create_topic(name)
    with _behind_a_proxy(token_broker, "127.0.0.0/8") as console:
        client = console.client()
        nameless = client.http.get("/api/clusters/secured/topics")
        assert (nameless.status_code, "has not named a person" in nameless.json()["error"]) == (403, True)
        client.http.headers[PROXY_HEADER] = "carol"
        listed = client.get("/clusters/secured/topics")["page"]["items"]
        assert [each["name"] for each in listed] == ["for-carol"]
        assert "User:carol" in client.page("/clusters/secured/topics")
        client.http.headers[PROXY_HEADER] = "admin"
        assert client.get("/clusters/secured/topics")["page"]["total"] == 2


def test_the_header_of_another_machine_is_refused(token_broker: EmbeddedBroker) -> None:
    with _behind_a_proxy(token_broker, "10.0.0.0/8") as console:
        answer = console.client().http.get("/api/clusters/secured/topics", headers={PROXY_HEADER: "admin"})
        assert answer.status_code == 403
        assert "did not come from it" in answer.json()["error"]


def test_settings_of_a_login_are_checked_at_the_start() -> None:
    cluster = ClusterSettings("a", "k:1")
    with pytest.raises(SettingsRefused, match="below oidc"):
        check(ConsoleSettings((cluster,), login=LoginMode.OIDC))
    with pytest.raises(SettingsRefused, match="trusted_proxies"):
        check(ConsoleSettings((cluster,), login=LoginMode.HEADER, header=HeaderSettings("X-User", ())))
    with pytest.raises(SettingsRefused, match="neither an address nor a network"):
        check(ConsoleSettings((cluster,), login=LoginMode.HEADER, header=HeaderSettings("X-User", ("proxy",))))
    check(ConsoleSettings((cluster,), host="0.0.0.0", login=LoginMode.HEADER, header=HeaderSettings("X-User", ("10.0.0.1",))))
