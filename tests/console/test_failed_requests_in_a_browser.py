"""Parts of pages that cannot be loaded: a person sees a sentence, and tries again."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, Route, expect

from barnabas.console.settings import ClusterSettings, LoginMode
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, serious_problems, shifted
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

# What Chromium and htmx write to their log about requests that the tests let fail.
FAILURES = ("status of 503", "Status Error Code", "net::ERR_FAILED", "htmx:")
TOPICS = "/clusters/local/topics"
ERROR_PAGE = '<main id="main"><h1>The cluster refused</h1><p class="problem" role="alert">No broker &lt;b&gt; answers.</p></main>'


def _search(page: Page, text: str) -> None:
    page.get_by_label("Search").fill(text)


def test_a_list_that_cannot_be_loaded_says_so_and_is_tried_again(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, topic: str
) -> None:
    client.post("/clusters/local/topics", name=f"{topic}-other", partitions=1)
    with opened_page(browser, console.url, expected=FAILURES) as page:
        observe_shifts(page)
        page.goto(f"{TOPICS}?search={topic}")
        expect(page.locator("#list tbody tr")).to_have_count(2)
        page.route("**/topics?search=*", lambda route: route.fulfill(status=503, content_type="text/html", body=ERROR_PAGE))
        _search(page, f"{topic}-other")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("No broker <b> answers. The page shows what it had before.")
        expect(page.locator("#list tbody tr")).to_have_count(2)
        expect(page.get_by_label("Search")).to_have_value(f"{topic}-other")
        assert serious_problems(page) == []
        screenshot(page, "request-refused")
        # The second attempt fails too, without a page of the console.
        page.unroute_all()
        page.route("**/topics?search=*", lambda route: route.fulfill(status=503, content_type="text/plain", body="upstream"))
        alert.get_by_role("button", name="Try again").click()
        expect(alert).to_contain_text("The console answered with status 503.")
        page.unroute_all()
        alert.get_by_role("button", name="Try again").click()
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(alert).to_have_count(0)
        assert f"search={topic}-other" in page.url
        assert shifted(page) <= SHIFT_MAX


def test_a_console_that_does_not_answer_is_a_sentence_beside_a_list(browser: Browser, console: ConsoleThread, topic: str) -> None:
    with opened_page(browser, console.url, expected=FAILURES) as page:
        page.goto(TOPICS)
        page.route("**/topics?search=*", lambda route: route.abort())
        _search(page, topic)
        expect(page.get_by_role("alert")).to_contain_text("The console does not answer.")
        page.unroute_all()
        # To type on is as good as the button.
        _search(page, topic[:-1])
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_part_that_loads_by_itself_says_that_it_is_old_and_recovers_alone(browser: Browser, console: ConsoleThread) -> None:
    with opened_page(browser, console.url, expected=FAILURES, width=360) as page:
        page.goto("/clusters/local/reassignment")
        page.route("**/reassignment", lambda route: route.abort())
        expect(page.get_by_role("alert")).to_contain_text("The console does not answer.")
        screenshot(page, "request-failed-on-a-phone")
        page.unroute_all()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.locator("#moves")).to_contain_text("No partition is being moved.")


def test_a_trial_of_a_schema_that_fails_is_a_sentence_and_keeps_the_text(
    browser: Browser, with_registry: ConsoleThread, new_name: str
) -> None:
    with opened_page(browser, with_registry.url, expected=FAILURES) as page:
        page.goto(f"/clusters/local/schemas/new?subject={new_name}")
        page.get_by_label("Schema", exact=True).fill('"string"')
        page.route("**/schemas/try", lambda route: route.abort())
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_role("alert")).to_contain_text("The console does not answer.")
        page.unroute_all()
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#trial")).to_contain_text("The schema is the first of its subject.")
        expect(page.get_by_label("Schema", exact=True)).to_have_value('"string"')
        expect(page.get_by_role("alert")).to_have_count(0)


def test_the_last_text_wins_when_it_is_typed_while_a_list_is_loaded(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, topic: str
) -> None:
    client.post("/clusters/local/topics", name=f"{topic}-other", partitions=1)
    held: list[Route] = []
    with opened_page(browser, console.url) as page:
        page.goto(TOPICS)
        # htmx asks for a confirmation of each request, before it decides to send or to queue it.
        page.evaluate("window.wanted = []; document.addEventListener('htmx:confirm', (event) => window.wanted.push(event.detail.path))")

        def hold_first(route: Route) -> None:
            held.append(route)
            if len(held) > 1:
                route.continue_()

        page.route("**/topics?search=*", hold_first)
        _search(page, topic)
        until(lambda: page.evaluate("window.wanted.length") == 1 and held, "the first text is asked for")
        _search(page, f"{topic}-other")
        until(lambda: page.evaluate("window.wanted.length") == 2, "the second text is to be asked for")
        assert len(held) == 1
        held[0].continue_()
        expect(page.locator("#list tbody tr")).to_have_count(1)
        assert [each.request.url.rpartition("search=")[2].partition("&")[0] for each in held] == [topic, f"{topic}-other"]
        assert f"search={topic}-other" in page.url


def test_text_typed_before_the_scripts_are_there_is_searched_for(browser: Browser, console: ConsoleThread, topic: str) -> None:
    held: list[Route] = []
    with opened_page(browser, console.url) as page:
        page.route("**/htmx.min.js*", lambda route: held.append(route))
        page.goto(TOPICS, wait_until="commit")
        _search(page, topic)
        until(lambda: page.evaluate("document.readyState") == "interactive" and held, "the page waits for the script")
        held[0].continue_()
        expect(page.locator("#list tbody tr")).to_have_count(1)


def test_a_person_whose_login_has_ended_keeps_the_list_and_logs_in_again(browser: Browser, secure_broker: EmbeddedBroker) -> None:
    settings = {name: str(value) for name, value in secure_broker.client_settings.items() if name != "bootstrap.servers"}
    user, password = settings.pop("sasl.username"), settings.pop("sasl.password")

    def log_in(page: Page) -> None:
        page.get_by_label("User").fill(user)
        page.get_by_label("Password").fill(password)
        page.locator("main").get_by_role("button", name="Log in").click()

    with (
        console_of(ClusterSettings("local", secure_broker.bootstrap, settings), login=LoginMode.USERS) as console,
        opened_page(browser, console.url, expected=FAILURES) as page,
    ):
        page.goto(f"{TOPICS}?internal=true")
        log_in(page)
        expect(page.locator("#list")).to_be_visible()
        page.context.clear_cookies()
        _search(page, "nothing-has-this-name")
        expect(page.get_by_role("alert")).to_contain_text("Your login has ended.")
        expect(page.locator("#list")).to_be_visible()
        screenshot(page, "login-ended")
        page.get_by_role("alert").get_by_role("link", name="Log in").click()
        log_in(page)
        expect(page).to_have_url(f"{console.url}{TOPICS}?internal=true")
