"""The console as a person uses it, in a real browser."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.console.browser import opened_page, screenshot
from tests.console.console_thread import ConsoleThread
from tests.waiting import until


def test_a_person_creates_finds_and_deletes_a_topic(browser: Browser, console: ConsoleThread, new_name: str) -> None:
    with opened_page(browser, console.url) as page:
        page.goto("/clusters")
        page.get_by_role("link", name="local", exact=True).click()
        page.get_by_role("link", name="Topics").click()
        page.get_by_role("link", name="New topic").click()
        page.get_by_label("Name").fill(new_name)
        page.get_by_label("Partitions").fill("2")
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")
        page.goto("/clusters/local/topics")
        page.keyboard.press("/")
        page.keyboard.type(new_name)
        expect(page.locator("#list tbody tr")).to_have_count(1)
        screenshot(page, "topics")
        page.get_by_role("link", name=new_name).click()
        page.locator("summary", has_text="Delete the topic").click()
        typed = page.get_by_label(f"Type the name of the topic, {new_name}, again")
        typed.fill("another")
        page.get_by_role("button", name="Delete the topic").click()
        expect(page.get_by_role("alert")).to_contain_text("to confirm")
        typed.fill(new_name)
        page.get_by_role("button", name="Delete the topic").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is deleted.")


def test_the_keyboard_alone_reaches_content_and_switches_the_theme(browser: Browser, console: ConsoleThread) -> None:
    with opened_page(browser, console.url) as page:
        page.goto("/clusters/local/topics")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_label("Search")).to_be_focused()
        switch = page.get_by_role("button", name="Light or dark")
        switch.focus()
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.keyboard.press("Enter")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_person_sends_finds_and_follows_records(browser: Browser, console: ConsoleThread, topic: str) -> None:
    with opened_page(browser, console.url) as page:
        page.goto(f"/clusters/local/topics/{topic}/records")
        page.get_by_text("One record").click()
        page.locator("#new-value").fill('{"amount": 150, "note": "<img src=x onerror=alert(1)>"}')
        page.locator("#new-value-format").select_option("json")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text(f"The record is {topic}/")
        expect(page.locator("#value-text")).to_contain_text("<img src=x onerror=alert(1)>")
        screenshot(page, "record-sent")
        page.goto(f"/clusters/local/topics/{topic}/records")
        page.get_by_label("Filter").fill(".amount > 100")
        page.get_by_role("button", name="Search all").click()
        expect(page.locator("#live-text")).to_contain_text("1 matches in 1 records. Done.")
        expect(page.locator("#records tr")).to_have_count(1)
        page.get_by_label("Filter").fill(".amount = 100")
        page.get_by_role("button", name="Search all").click()
        expect(page.locator("#live-text")).to_contain_text("use == for equality")
        page.get_by_label("Filter").fill("")
        page.get_by_role("button", name="Live tail").click()
        expect(page.locator("#live-text")).to_contain_text("Waiting for new records.")
        until(lambda: console.services.streams == 1, "the tail is read")
        client = console.client()
        client.post(f"/clusters/local/topics/{topic}/records", value="tailed")
        expect(page.locator("#records tr").first).to_contain_text("tailed")
        screenshot(page, "tail")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#live-text")).to_contain_text("Stopped.")
        until(lambda: console.services.streams == 0, "the console stops reading")


def test_a_topic_is_created_with_the_keyboard_alone(browser: Browser, console: ConsoleThread, new_name: str) -> None:
    with opened_page(browser, console.url) as page:
        page.goto("/clusters/local/topics/new")
        expect(page.get_by_label("Name")).to_be_focused()
        page.keyboard.type(new_name)
        page.keyboard.press("Tab")
        expect(page.get_by_label("Partitions")).to_be_focused()
        page.keyboard.type("2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")
        page.goto(f"/clusters/local/topics/{new_name}")
        page.locator("summary", has_text="Add partitions").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_label("New number of partitions")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("has 3 partitions now")


def test_pages_can_be_read_and_forms_sent_without_a_script(browser: Browser, console: ConsoleThread, new_name: str) -> None:
    context = browser.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/clusters/local/topics/new")
    page.get_by_label("Name").fill(new_name)
    page.get_by_role("button", name="Create the topic").click()
    expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")
    page.goto(f"/clusters/local/topics?search={new_name}")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    context.close()
