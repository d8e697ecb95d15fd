"""Logins, logouts and read-only mode as a person meets them, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from playwright.sync_api import Browser, Page, expect

from barnabas.console.settings import ClusterSettings, ConsoleSettings, HeaderSettings, LoginMode
from barnabas.testing import EmbeddedBroker
from tests.console.browser import open_directly, opened_page, screenshot, serious_problems, tab_to, wider_than_the_screen
from tests.console.console_thread import ConsoleThread, console_of
from tests.console.oidc_provider import OidcProvider, console_with_oidc, oidc_provider
from tests.scenarios.security.identity_provider import bearer_settings, identity_provider
from tests.scenarios.security.logged_in import PASSWORDS, with_authorizer
from tests.scenarios.security.test_oauthbearer import LISTENERS, NAMES

_TOPICS = "/clusters/secured/topics"
_PROXY_HEADER = "X-Forwarded-User"
PHONE_PIXELS = 360


def _without_user(broker: EmbeddedBroker) -> ClusterSettings:
    names = ("security.protocol", "sasl.mechanism", "ssl.ca.location")
    return ClusterSettings("secured", broker.bootstrap, {each: broker.client_settings[each] for each in names})


@pytest.fixture(scope="module")
def by_scram(secure_broker: EmbeddedBroker) -> Iterator[ConsoleThread]:
    with console_of(_without_user(secure_broker), login=LoginMode.USERS) as started:
        yield started


@pytest.fixture(scope="module")
def plain_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=with_authorizer()) as started:
        yield started


@pytest.fixture(scope="module")
def by_plain(plain_broker: EmbeddedBroker) -> Iterator[ConsoleThread]:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    with console_of(ClusterSettings("secured", plain_broker.bootstrap, properties), login=LoginMode.USERS) as started:
        yield started


def _fill_in(page: Page, user: str, password: str) -> None:
    page.get_by_label("User", exact=True).fill(user)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Log in", exact=True).click()


def _status(page: Page, address: str) -> int:
    """Of a request with the cookie of the page."""
    return page.request.get(f"/api{address}").status


def _principals(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.request.get("/api/session").json()["principals"]
    return found


def _topics(settings: dict[str, Any]) -> set[str]:
    """As librdkafka sees them."""
    return set(AdminClient(settings).list_topics(timeout=60).topics)


def test_a_person_logs_in_with_scram_after_a_wrong_password_and_logs_out(
    browser: Browser, by_scram: ConsoleThread, secure_broker: EmbeddedBroker
) -> None:
    settings = secure_broker.client_settings
    with opened_page(browser, by_scram.url) as page:
        open_directly(page, f"{_TOPICS}?search=a")
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        expect(page.get_by_label("User", exact=True)).to_be_focused()
        screenshot(page, "login-of-a-person")
        _fill_in(page, "admin", "wrong")
        expect(page.get_by_role("alert")).to_contain_text("The login at secured failed: ")
        expect(page.get_by_role("alert")).to_contain_text("invalid credentials")
        expect(page.get_by_label("User", exact=True)).to_have_value("admin")
        expect(page.get_by_label("Password", exact=True)).to_have_value("")
        assert serious_problems(page) == []
        screenshot(page, "login-refused")
        assert (_principals(page), _status(page, _TOPICS)) == ({}, 401)
        _fill_in(page, settings["sasl.username"], settings["sasl.password"])
        expect(page.get_by_role("status")).to_contain_text("You are logged in at secured as User:admin.")
        expect(page).to_have_url(f"{by_scram.url}{_TOPICS}?search=a")
        expect(page.locator(".who")).to_contain_text("User:admin")
        assert _principals(page) == {"secured": "User:admin"}
        screenshot(page, "logged-in")
        cookies = page.context.cookies()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        expect(page.get_by_role("status")).to_contain_text("You are logged out.")
        assert (_principals(page), _status(page, _TOPICS)) == ({}, 401)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        # A cookie that was copied before the logout is worth nothing after it.
        page.context.clear_cookies()
        page.context.add_cookies(cookies)  # type: ignore[arg-type]
        assert _status(page, _TOPICS) == 401


@pytest.mark.parametrize("mechanism", ["scram", "plain"])
def test_the_permissions_of_the_person_decide_what_the_console_shows_and_does(
    browser: Browser,
    by_scram: ConsoleThread,
    by_plain: ConsoleThread,
    secure_broker: EmbeddedBroker,
    plain_broker: EmbeddedBroker,
    new_name: str,
    mechanism: str,
) -> None:
    if mechanism == "scram":
        console, of_admin = by_scram, secure_broker.client_settings
        user = f"user-{uuid4().hex[:8]}"
        passwords = {"admin": of_admin["sasl.password"], user: secure_broker.add_user(user)["sasl.password"]}
    else:
        console, user, passwords = by_plain, "alice", PASSWORDS
        of_admin = {
            **by_plain.settings.clusters[0].properties,
            "bootstrap.servers": plain_broker.bootstrap,
            "sasl.username": "admin",
            "sasl.password": PASSWORDS["admin"],
        }
    with opened_page(browser, console.url) as page:
        page.goto("/login?next=/clusters/secured/topics/new")
        _fill_in(page, "admin", passwords["admin"])
        page.get_by_label("Name", exact=True).fill(new_name)
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")
        assert new_name in _topics(of_admin)
    with opened_page(browser, console.url) as page:
        page.goto(f"/login?next={_TOPICS}")
        _fill_in(page, user, passwords[user])
        expect(page.locator(".who")).to_contain_text(f"User:{user}")
        expect(page.get_by_text(f"There are no topics that User:{user} may see.")).to_be_visible()
        expect(page.get_by_text(new_name)).to_have_count(0)
        screenshot(page, f"topics-without-permissions-{mechanism}")
        page.get_by_role("link", name="New topic").click()
        page.get_by_label("Name", exact=True).fill(f"{new_name}-2")
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("alert")).to_contain_text(f"Cannot create topic {new_name}-2: ")
        expect(page.get_by_role("alert")).to_contain_text("uthoriz")
        screenshot(page, f"change-without-permission-{mechanism}")
        assert f"{new_name}-2" not in _topics(of_admin)
        entry = page.request.get("/api/audit").json()["entries"][0]
        assert (entry["principal"], entry["operation"]) == (f"User:{user}", "create_topic")
        # Pages that need permissions say so, and do not fail.
        for section in ("", "/groups", "/transactions", "/brokers", "/security?resource_type=cluster", "/security/tokens"):
            page.goto(f"/clusters/secured{section}")
            assert serious_problems(page) == []
            expect(page.get_by_text("The console has a bug")).to_have_count(0)


def test_a_person_logs_in_and_creates_a_topic_with_the_keyboard_alone(
    browser: Browser, by_scram: ConsoleThread, secure_broker: EmbeddedBroker, new_name: str
) -> None:
    settings = secure_broker.client_settings
    with opened_page(browser, by_scram.url) as page:
        page.goto(_TOPICS)
        # The cursor is in the first field that a person fills in.
        expect(page.get_by_label("User", exact=True)).to_be_focused()
        page.keyboard.type(settings["sasl.username"])
        tab_to(page, page.get_by_label("Password", exact=True))
        page.keyboard.type(settings["sasl.password"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("as User:admin.")
        tab_to(page, page.get_by_role("link", name="New topic"))
        page.keyboard.press("Enter")
        expect(page.get_by_label("Name", exact=True)).to_be_focused()
        page.keyboard.type(new_name)
        tab_to(page, page.get_by_role("button", name="Create the topic"))
        screenshot(page, "topic-by-keyboard")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")
        assert new_name in _topics(settings)
        tab_to(page, page.get_by_role("button", name="Log out"))
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert _status(page, _TOPICS) == 401


def test_a_person_logs_in_on_a_phone(browser: Browser, by_scram: ConsoleThread, secure_broker: EmbeddedBroker) -> None:
    settings = secure_broker.client_settings
    with opened_page(browser, by_scram.url, width=PHONE_PIXELS, dark=True) as page:
        open_directly(page, "/login")
        _fill_in(page, "admin", "wrong")
        expect(page.get_by_role("alert")).to_be_visible()
        assert wider_than_the_screen(page) == 0
        screenshot(page, "login-refused-phone")
        _fill_in(page, settings["sasl.username"], settings["sasl.password"])
        expect(page.get_by_role("heading", level=1)).to_have_text("Clusters")
        assert wider_than_the_screen(page) == 0
        screenshot(page, "logged-in-phone")


# -- single sign-on --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def provider_and_console() -> Iterator[tuple[OidcProvider, ConsoleThread]]:
    with (
        identity_provider() as tokens,
        oidc_provider(tokens) as provider,
        EmbeddedBroker(config=LISTENERS | bearer_settings(tokens, *NAMES)) as broker,
        console_with_oidc(provider, broker) as console,
    ):
        yield provider, console


def test_a_person_logs_in_at_an_identity_provider_and_works_under_that_name(
    browser: Browser, provider_and_console: tuple[OidcProvider, ConsoleThread], new_name: str
) -> None:
    provider, console = provider_and_console
    topics = "/clusters/tokens/topics"
    with opened_page(browser, console.url) as page:
        visited: list[str] = []
        page.on("request", lambda request: visited.append(request.url.partition("?")[0]))
        open_directly(page, f"{topics}/new")
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        # The cluster takes tokens only, so there is no use in a password.
        expect(page.get_by_label("Password")).to_have_count(0)
        screenshot(page, "login-at-a-provider")
        assert _status(page, topics) == 401
        page.get_by_role("link", name="Log in at 127.0.0.1").click()
        expect(page.get_by_role("status")).to_contain_text("You are logged in as User:alice.")
        assert f"{provider.url}/authorize" in visited
        # The page that wanted the login, and an address without the code.
        expect(page).to_have_url(f"{console.url}{topics}/new")
        expect(page.locator(".who")).to_contain_text("User:alice")
        page.get_by_label("Name", exact=True).fill(new_name)
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")
        screenshot(page, "topic-of-a-person-of-a-provider")
        entry = page.request.get("/api/audit").json()["entries"][0]
        assert (entry["principal"], entry["operation"], entry["outcome"]) == ("User:alice", "create_topic", "done")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("link", name="Log in at 127.0.0.1")).to_be_visible()
        assert _status(page, topics) == 401


def test_an_answer_of_the_provider_for_another_login_is_refused_with_a_sentence(
    browser: Browser, provider_and_console: tuple[OidcProvider, ConsoleThread], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, console = provider_and_console
    monkeypatch.setattr(provider, "id_changes", {"nonce": "of-another-login"})
    with opened_page(browser, console.url) as page:
        page.goto("/login")
        page.get_by_role("link", name="Log in at 127.0.0.1").click()
        expect(page.get_by_role("alert")).to_contain_text("of another login")
        assert serious_problems(page) == []
        screenshot(page, "login-at-a-provider-refused")
        assert _status(page, "/clusters/tokens/topics") == 401


@pytest.fixture(scope="module")
def behind_a_proxy() -> Iterator[tuple[EmbeddedBroker, ConsoleThread]]:
    with EmbeddedBroker(secure=True, config={"delegation.token.secret.key": "key-of-tokens"}) as broker:
        properties = {name: value for name, value in broker.client_settings.items() if name != "bootstrap.servers"}
        cluster = ClusterSettings("secured", broker.bootstrap, properties)
        header = HeaderSettings(_PROXY_HEADER, ("127.0.0.0/8",))
        with ConsoleThread(ConsoleSettings((cluster,), login=LoginMode.HEADER, header=header)) as console:
            yield broker, console


def test_a_person_that_a_proxy_names_sees_what_that_person_may_see(
    browser: Browser, behind_a_proxy: tuple[EmbeddedBroker, ConsoleThread], new_name: str
) -> None:
    broker, console = behind_a_proxy
    user, own, other = f"user-{uuid4().hex[:8]}", f"{new_name}-own", f"{new_name}-other"
    broker.add_user(user)
    broker.allow(user, "Describe", "Read", topic=own)
    for name in (own, other):
        broker.create_topic(name)
    with opened_page(browser, console.url) as page:
        open_directly(page, _TOPICS)
        expect(page.get_by_role("alert")).to_contain_text(f"The proxy has not named a person in the header {_PROXY_HEADER}.")
        expect(page.get_by_role("link", name="Log in")).to_have_count(0)
        screenshot(page, "proxy-without-a-name")
        page.set_extra_http_headers({_PROXY_HEADER: user})
        open_directly(page, f"{_TOPICS}?search={new_name}")
        expect(page.locator(".who")).to_contain_text(f"User:{user}")
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(page.get_by_role("link", name=own)).to_be_visible()
        # Only the proxy can log this person out.
        expect(page.get_by_role("button", name="Log out")).to_have_count(0)
        screenshot(page, "named-by-a-proxy")
        page.get_by_role("link", name="New topic").click()
        page.get_by_label("Name", exact=True).fill(f"{new_name}-new")
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("alert")).to_contain_text(f"Cannot create topic {new_name}-new: ")
        assert f"{new_name}-new" not in _topics(dict(broker.client_settings))
        page.set_extra_http_headers({_PROXY_HEADER: "admin"})
        page.goto(f"{_TOPICS}?search={new_name}")
        expect(page.locator(".who")).to_contain_text("User:admin")
        expect(page.locator("#list tbody tr")).to_have_count(2)


# -- read-only mode --------------------------------------------------------------------------------

_MAIN_PAGES = (
    "",
    "/topics",
    "/topics/new",
    "/topics/{topic}",
    "/topics/{topic}/settings?search=retention",
    "/topics/{topic}/records",
    "/topics/{topic}/records/0/0",
    "/topics/{topic}/users",
    "/groups",
    "/groups/{group}",
    "/groups/{group}/members",
    "/groups/{group}/reset",
    "/dead-letters",
    "/dead-letters/{letters}",
    "/dead-letters/{letters}/letters/0/0",
    "/dead-letters/{letters}/redrive",
    "/transactions",
    "/transactions/hanging",
    "/brokers",
    "/brokers/1",
    "/brokers/1/disks",
    "/brokers/1/loggers",
    "/brokers/1/settings?search=cleaner",
    "/brokers/all/settings",
    "/brokers/features",
    "/reassignment",
    "/reassignment/leaders",
    "/security?name={topic}",
    "/security/rules",
    "/security/users",
    "/security/tokens",
    "/security/quotas",
)


@pytest.mark.parametrize("whole_console", [True, False], ids=["the-console", "the-cluster"])
def test_a_read_only_console_or_cluster_offers_no_change_on_any_page(
    browser: Browser,
    broker: EmbeddedBroker,
    accessible_topic: str,
    accessible_group: str,
    accessible_letters: str,
    whole_console: bool,
) -> None:
    cluster = ClusterSettings("local", broker.bootstrap, read_only=not whole_console)
    names = {"topic": accessible_topic, "group": accessible_group, "letters": accessible_letters}
    with console_of(cluster, read_only=whole_console) as console, opened_page(browser, console.url) as page:
        for each in _MAIN_PAGES:
            page.goto(f"/clusters/local{each.format(**names)}")
            assert page.get_by_role("alert").count() == 0, each
            assert page.get_by_text("read-only", exact=True).is_visible(), each
            # Every change is a form that is sent with POST.
            assert page.locator("form[method=post]").count() == 0, each
            assert page.get_by_role("link", name="New topic").count() == 0, each
        page.goto("/clusters/local/topics/new")
        screenshot(page, f"read-only-new-topic-{'console' if whole_console else 'cluster'}")
        page.goto(f"/clusters/local/topics/{accessible_topic}")
        assert serious_problems(page) == []
        screenshot(page, f"read-only-topic-{'console' if whole_console else 'cluster'}")


def test_a_form_that_was_open_before_the_console_became_read_only_is_refused(
    browser: Browser, broker: EmbeddedBroker, new_name: str
) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap)) as console, opened_page(browser, console.url) as page:
        page.goto("/clusters/local/topics/new")
        console.services.settings = replace(console.services.settings, read_only=True)
        page.get_by_label("Name", exact=True).fill(new_name)
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("alert")).to_have_text("The console is read-only.")
        expect(page.get_by_label("Name", exact=True)).to_have_value(new_name)
        screenshot(page, "read-only-refusal")
        token = page.request.get("/api/session").json()["csrf_token"]
        posted = page.request.post("/clusters/local/topics", form={"name": new_name, "csrf_token": token})
        assert (posted.status, "The console is read-only." in posted.text()) == (403, True)
        assert new_name not in _topics({"bootstrap.servers": broker.bootstrap})


def test_a_cluster_that_is_down_has_its_read_only_badge(browser: Browser, broker: EmbeddedBroker) -> None:
    for whole_console in (True, False):
        down = ClusterSettings("dead", "127.0.0.1:1", read_only=not whole_console)
        with (
            console_of(ClusterSettings("local", broker.bootstrap), down, read_only=whole_console) as console,
            opened_page(browser, console.url) as page,
        ):
            open_directly(page, "/clusters")
            dead = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="dead"))
            expect(dead).to_contain_text("down")
            expect(dead.get_by_text("read-only", exact=True)).to_be_visible()
            screenshot(page, f"down-and-read-only-{'console' if whole_console else 'cluster'}")
            found = {each["name"]: each["read_only"] for each in page.request.get("/api/clusters").json()["clusters"]}
            assert found == {"local": whole_console, "dead": True}
