"""Users, rules, tokens and quotas as an administrator works with them, in a real browser. The
outcome of each change is looked up at the broker, with librdkafka or over the JSON API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka.admin import AdminClient
from playwright.sync_api import Browser, Locator, Page, expect

from barnabas.client_settings.delegation_token import BY_TOKEN
from barnabas.console.settings import ClusterSettings, LoginMode
from barnabas.testing import EmbeddedBroker
from tests.console.browser import (
    open_directly,
    opened_page,
    reload_until,
    screenshot,
    serious_problems,
    tab_to,
    wider_than_the_screen,
)
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

_SECURITY = "/clusters/secured/security"
PHONE_PIXELS = 360


@pytest.fixture(scope="module")
def secured() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True, config={"delegation.token.secret.key": "the-key-of-tokens"}) as started:
        yield started


@pytest.fixture(scope="module")
def of_admin(secured: EmbeddedBroker) -> Iterator[ConsoleThread]:
    """A console that acts as the user admin without a login."""
    properties = {name: value for name, value in secured.client_settings.items() if name != "bootstrap.servers"}
    with console_of(ClusterSettings("secured", secured.bootstrap, properties)) as started:
        yield started


@pytest.fixture(scope="module")
def with_login(secured: EmbeddedBroker) -> Iterator[ConsoleThread]:
    with console_of(ClusterSettings("secured", secured.bootstrap, _without_user(secured)), login=LoginMode.USERS) as started:
        yield started


@pytest.fixture
def admin(of_admin: ConsoleThread) -> ConsoleClient:
    return of_admin.client()


@pytest.fixture
def user() -> str:
    return f"user-{uuid4().hex[:8]}"


def _without_user(broker: EmbeddedBroker) -> dict[str, str]:
    return {name: broker.client_settings[name] for name in ("security.protocol", "sasl.mechanism", "ssl.ca.location")}


def _as_user(broker: EmbeddedBroker, user: str, password: str) -> dict[str, Any]:
    """Settings of librdkafka."""
    return {**broker.client_settings, "sasl.username": user, "sasl.password": password, "log_level": 0}


def _log_in(settings: dict[str, Any]) -> None:
    """librdkafka tries again until the broker knows the new password."""
    AdminClient(settings).list_topics(timeout=60)


def _until_refused(settings: dict[str, Any]) -> None:
    errors: list[KafkaError] = []
    settings["error_cb"] = errors.append
    client = AdminClient(settings)
    until(lambda: client.poll(0) or any(each.code() == KafkaError._AUTHENTICATION for each in errors), "the broker refuses the login")


def _may(client: AdminClient, topic: str) -> set[str]:
    """Operations on the topic that the broker allows to the user of the client."""
    (described,) = client.describe_topics(TopicCollection([topic]), include_authorized_operations=True).values()
    if described.exception(60) is not None:
        return set()
    return {each.name for each in described.result().authorized_operations or ()}


def _row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def _expect_found(page: Page, search: str) -> None:
    """The list of a search has one row. The address changes with the list; a row that is opened
    before that closes again."""
    expect(page).to_have_url(re.compile(f"search={search}$"))
    expect(page.locator("#list tbody tr")).to_have_count(1)


def _at_the_login(browser: Browser, console: ConsoleThread, user: str, password: str) -> str:
    """What the page says to a person who logs in."""
    with opened_page(browser, console.url) as page:
        page.goto("/login")
        page.get_by_label("User", exact=True).fill(user)
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Log in", exact=True).click()
        said = page.get_by_role("status").locator("p").or_(page.get_by_role("alert"))
        expect(said).to_have_count(1)
        return said.inner_text()


# -- users -----------------------------------------------------------------------------------------


def _set_password(page: Page, user: str, password: str, *, new_only: bool = True) -> None:
    if not page.get_by_label("Password", exact=True).is_visible():
        page.locator("summary", has_text="New user, or another password").click()
    page.get_by_label("User", exact=True).fill(user)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_label("Only if the user does not exist").set_checked(new_only)
    page.get_by_role("button", name="Set the password").click()


def test_an_administrator_creates_a_user_changes_the_password_and_removes_the_user(
    browser: Browser, of_admin: ConsoleThread, with_login: ConsoleThread, admin: ConsoleClient, secured: EmbeddedBroker, user: str
) -> None:
    logged_in, failed = f"You are logged in at secured as User:{user}.", "The login at secured failed: "
    with opened_page(browser, of_admin.url) as page:
        open_directly(page, f"{_SECURITY}/users")
        _set_password(page, user, "first-password")
        expect(page.get_by_role("status")).to_contain_text(f"The user {user} has a new password for SCRAM-SHA-512.")
        reload_until(page, lambda: _row(page, user).count() == 1, "the page has the new user")
        expect(_row(page, user)).to_contain_text("SCRAM-SHA-512")
        assert "first-password" not in page.content()
        screenshot(page, "user-created")
        _log_in(_as_user(secured, user, "first-password"))
        assert _at_the_login(browser, with_login, user, "first-password") == logged_in

        _set_password(page, user, "second-password")
        expect(page.get_by_role("alert")).to_contain_text(f"There is a user {user} already.")
        screenshot(page, "user-exists")
        # The sentence of the first password is gone with this.
        page.goto(f"{_SECURITY}/users")
        _set_password(page, user, "second-password", new_only=False)
        expect(page.get_by_role("status")).to_contain_text(f"The user {user} has a new password for SCRAM-SHA-512.")
        page.wait_for_load_state()
        _log_in(_as_user(secured, user, "second-password"))
        _until_refused(_as_user(secured, user, "first-password"))
        assert _at_the_login(browser, with_login, user, "second-password") == logged_in
        assert _at_the_login(browser, with_login, user, "first-password").startswith(failed)

        page.get_by_label("Search").fill(user)
        _expect_found(page, user)
        _row(page, user).locator("summary").click()
        screenshot(page, "user-to-remove")
        page.get_by_role("button", name=f"Remove {user}").click()
        expect(page.get_by_role("status")).to_contain_text(f"The user {user} cannot log in with SCRAM-SHA-512 any more.")
        reload_until(page, lambda: _row(page, user).count() == 0, "the page has no such user")
        assert admin.get(f"{_SECURITY}/users", search=user)["page"]["total"] == 0
        _until_refused(_as_user(secured, user, "second-password"))
        assert _at_the_login(browser, with_login, user, "second-password").startswith(failed)


# -- rules -----------------------------------------------------------------------------------------


def _decision(page: Page, principal: str, operation: str) -> Locator:
    """The cell of the matrix."""
    return _row(page, principal).locator(f"td[data-label='{operation}']")


def test_the_matrix_shows_a_rule_that_was_added_with_the_form_until_it_is_removed(
    browser: Browser, of_admin: ConsoleThread, admin: ConsoleClient, secured: EmbeddedBroker, user: str, new_name: str
) -> None:
    client = AdminClient({**secured.add_user(user)})
    principal, matrix = f"User:{user}", f"{_SECURITY}?resource_type=topic&name={new_name}"
    secured.create_topic(new_name)
    assert _may(client, new_name) == set()
    with opened_page(browser, of_admin.url) as page:
        open_directly(page, matrix)
        expect(_decision(page, principal, "read")).to_contain_text("no")
        page.get_by_role("link", name="Rules").click()
        page.locator("summary", has_text="Add a rule").click()
        page.get_by_label("Principal", exact=True).fill(user)
        page.get_by_label("Operation").select_option("read")
        page.get_by_label("Name", exact=True).fill(new_name[:-3])
        page.get_by_label("The name is").select_option("a prefix")
        page.get_by_role("button", name="Add the rule").click()
        expect(page.get_by_role("alert")).to_contain_text(f"A principal is written as Type:name, such as User:{user}.")
        screenshot(page, "rule-refused")
        page.get_by_label("Principal", exact=True).fill(principal)
        page.get_by_role("button", name="Add the rule").click()
        expect(page.get_by_role("status")).to_contain_text(f"{principal} may read topics that begin with {new_name[:-3]}.")
        until(lambda: _may(client, new_name) == {"READ", "DESCRIBE"}, "the broker applies the rule")

        open_directly(page, f"{matrix}&search={user}")
        allowed = {each: _decision(page, principal, each).locator("summary").inner_text() for each in ("read", "describe", "write")}
        assert allowed == {"read": "yes", "describe": "yes", "write": "no"}
        _decision(page, principal, "read").locator("summary").click()
        expect(_decision(page, principal, "read")).to_contain_text(f"topics that begin with {new_name[:-3]}")
        assert serious_problems(page) == []
        screenshot(page, "matrix-with-a-rule")
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 740})
        assert wider_than_the_screen(page) == 0
        screenshot(page, "matrix-with-a-rule-phone")
        page.set_viewport_size({"width": 1280, "height": 800})

        page.get_by_role("link", name="Rules").click()
        page.get_by_label("Search").fill(user)
        _expect_found(page, user)
        page.locator("#list summary", has_text="Remove").click()
        expect(page.get_by_text(f"{principal} may read topics that begin with {new_name[:-3]}.")).to_be_visible()
        screenshot(page, "rule-to-remove")
        page.get_by_role("button", name="Remove the rule").click()
        expect(page.get_by_role("status")).to_contain_text("The rule is removed: ")
        until(lambda: _may(client, new_name) == set(), "the broker has removed the rule")
        assert admin.get(f"{_SECURITY}/rules", search=user)["page"]["total"] == 0
        page.goto(matrix)
        expect(_decision(page, principal, "read")).to_contain_text("no")


def test_an_administrator_adds_and_removes_a_rule_with_the_keyboard_alone(
    browser: Browser, of_admin: ConsoleThread, admin: ConsoleClient, user: str
) -> None:
    def rules() -> list[tuple[str, str, str, str]]:
        found = admin.get(f"{_SECURITY}/rules", search=user)["page"]["items"]
        return [(each["permission"], each["operation"], each["resource_type"], each["resource_name"]) for each in found]

    with opened_page(browser, of_admin.url) as page:
        page.goto(f"{_SECURITY}/rules")
        tab_to(page, page.locator("summary", has_text="Add a rule"))
        page.keyboard.press("Enter")
        tab_to(page, page.get_by_label("Permission"))
        page.keyboard.type("deny")
        tab_to(page, page.get_by_label("Principal", exact=True))
        page.keyboard.type(f"User:{user}")
        tab_to(page, page.get_by_label("Operation"))
        page.keyboard.type("write")
        tab_to(page, page.get_by_label("Name", exact=True))
        page.keyboard.type("orders")
        screenshot(page, "rule-by-keyboard")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text(f"The rule is added: User:{user} may not write topic orders.")
        until(lambda: rules() == [("deny", "write", "topic", "orders")], "the broker has the rule")
        page.wait_for_load_state()
        page.keyboard.press("/")
        page.keyboard.type(user)
        _expect_found(page, user)
        tab_to(page, page.locator("#list summary", has_text="Remove"))
        page.keyboard.press("Enter")
        tab_to(page, page.get_by_role("button", name="Remove the rule"))
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("The rule is removed: ")
        until(lambda: rules() == [], "the broker has no such rule")


# -- delegation tokens -----------------------------------------------------------------------------


def _status_by_token(secured: EmbeddedBroker, token: str, password: str) -> int:
    """Of a page of a console that logs in with the token; librdkafka cannot."""
    login = {**_without_user(secured), "sasl.username": token, "sasl.password": password, BY_TOKEN: "true"}
    with console_of(ClusterSettings("secured", secured.bootstrap, login)) as console:
        return console.client().http.get("/api/clusters/secured/topics").status_code


def test_an_administrator_creates_renews_and_expires_a_token_and_sees_its_password_once(
    browser: Browser, of_admin: ConsoleThread, admin: ConsoleClient, secured: EmbeddedBroker, user: str
) -> None:
    def listed(token: str) -> list[dict[str, Any]]:
        return [each for each in admin.get(f"{_SECURITY}/tokens", size=500)["page"]["items"] if each["id"] == token]

    with opened_page(browser, of_admin.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        open_directly(page, f"{_SECURITY}/tokens")
        page.locator("summary", has_text="New token").click()
        page.get_by_label("Owner").fill("admin")
        page.get_by_role("button", name="Create the token").click()
        # The browser keeps the form, because a principal has a type.
        expect(page.get_by_label("Owner")).to_be_focused()
        page.get_by_label("Owner").fill("")
        page.get_by_label("Renewers").fill(f"User:{user} User:other")
        page.get_by_label("Lifetime in hours").fill("2")
        page.get_by_role("button", name="Create the token").click()
        expect(page.get_by_text("This page is the only one with the password of the token: copy it now.")).to_be_visible()
        token, password = page.locator("#token-id").inner_text(), page.get_by_label("Password").input_value()
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == password
        for dark in (False, True):
            page.emulate_media(color_scheme="dark" if dark else "light")
            assert serious_problems(page) == []
            screenshot(page, f"token-created{'-dark' if dark else ''}")
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 740})
        assert wider_than_the_screen(page) == 0
        screenshot(page, "token-created-phone")
        page.set_viewport_size({"width": 1280, "height": 800})
        assert _status_by_token(secured, token, password) == 200

        page.get_by_role("link", name="All tokens").click()
        expect(_row(page, token)).to_contain_text(f"User:{user}")
        assert password not in page.content()
        # On the way back the browser has no copy of the password, and sends no form again.
        total = admin.get(f"{_SECURITY}/tokens")["page"]["total"]
        page.go_back()
        expect(_row(page, token)).to_be_visible()
        assert password not in page.content()
        assert admin.get(f"{_SECURITY}/tokens")["page"]["total"] == total
        assert password not in str(admin.get("/audit"))

        (before,) = listed(token)
        _row(page, token).locator("summary").click()
        _row(page, token).get_by_label("Hours from now").fill("1")
        screenshot(page, "token-to-renew")
        _row(page, token).get_by_role("button", name="Renew").click()
        expect(page.get_by_role("status")).to_contain_text(f"The token {token} is valid until ")
        until(lambda: listed(token)[0]["expiry_ms"] < before["expiry_ms"], "the broker has the new expiry")
        assert _status_by_token(secured, token, password) == 200

        page.goto(f"{_SECURITY}/tokens")
        _row(page, token).locator("summary").click()
        _row(page, token).get_by_role("button", name="Expire now").click()
        expect(page.get_by_role("status")).to_contain_text(f"The token {token} is expired and removed.")
        reload_until(page, lambda: _row(page, token).count() == 0, "the page has no such token")
        assert listed(token) == []
        assert _status_by_token(secured, token, password) == 502


# -- quotas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, PHONE_PIXELS], ids=["desk", "phone"])
def test_an_administrator_sets_sees_changes_and_removes_a_quota(
    browser: Browser, of_admin: ConsoleThread, admin: ConsoleClient, user: str, width: int
) -> None:
    def limits() -> list[dict[str, float]]:
        return [each["limits"] for each in admin.get(f"{_SECURITY}/quotas", search=user)["page"]["items"]]

    with opened_page(browser, of_admin.url, width=width) as page:

        def shows(value: str) -> None:
            row = page.get_by_role("row").filter(has_text=f"user {user}")
            reload_until(page, lambda: row.count() == 1 and value in row.inner_text(), f"the page has {value}")
            assert wider_than_the_screen(page) == 0

        open_directly(page, f"{_SECURITY}/quotas")
        page.locator("summary", has_text="Set a quota").click()
        page.get_by_label("User", exact=True).fill(user)
        page.get_by_label("Limit").select_option("producer_byte_rate")
        page.get_by_label("Value", exact=True).fill("fast")
        page.get_by_role("button", name="Set the quota").click()
        expect(page.get_by_role("alert")).to_contain_text("fast")
        assert wider_than_the_screen(page) == 0
        screenshot(page, f"quota-refused-{width}")
        page.get_by_label("Value", exact=True).fill("1MB")
        page.get_by_role("button", name="Set the quota").click()
        expect(page.get_by_role("status")).to_contain_text(f"producer_byte_rate of user {user} is 1 MB/s.")
        shows("1 MB/s")
        assert limits() == [{"producer_byte_rate": 1_000_000.0}]

        row = page.get_by_role("row").filter(has_text=f"user {user}")
        row.locator("summary").click()
        expect(row.get_by_label("New value")).to_have_value("1MB")
        row.get_by_label("New value").fill("2500kB")
        assert wider_than_the_screen(page) == 0
        screenshot(page, f"quota-to-change-{width}")
        row.get_by_role("button", name="Set", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text(f"producer_byte_rate of user {user} is 2.5 MB/s.")
        shows("2.5 MB/s")
        assert limits() == [{"producer_byte_rate": 2_500_000.0}]
        screenshot(page, f"quota-changed-{width}")

        row.locator("summary").click()
        row.get_by_role("button", name="Remove").click()
        expect(page.get_by_role("status")).to_contain_text(f"producer_byte_rate of user {user} is removed.")
        reload_until(page, lambda: row.count() == 0, "the page has no such quota")
        assert limits() == []
