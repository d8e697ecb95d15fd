"""Groups and dead letters as a person works with them, in a real browser."""

from __future__ import annotations

import time
from uuid import uuid4

from playwright.sync_api import Browser, expect

from barnabas.console.access.lag_watch import LagWatch
from barnabas.testing import EmbeddedBroker
from tests.console.browser import opened_page, screenshot
from tests.console.console_thread import ConsoleClient, ConsoleThread
from tests.console.groups_of_tests import commit, produce
from tests.console.letters_of_tests import send_letters


def test_a_person_looks_at_the_lag_of_a_group_and_resets_it(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    group = f"group-{uuid4().hex[:12]}"
    produce(broker.bootstrap, topic, 30)
    commit(broker.bootstrap, group, {(topic, each): 7 for each in range(3)})
    client.get(f"/clusters/local/groups/{group}")
    watch = console.services.client(console.settings.clusters[0], None).remembered(LagWatch)
    for minute in range(1, 30):
        watch.histories.add(group, time.time() + minute * 60, minute * 3, minute * 1.5)
    with opened_page(browser, console.url) as page:
        page.goto("/clusters/local/groups")
        page.get_by_label("Search").fill(group)
        expect(page.locator("#list tbody tr")).to_have_count(1)
        page.get_by_role("link", name=group).click()
        expect(page.locator(".chart canvas")).to_have_count(2)
        screenshot(page, "group-with-history")
        page.get_by_role("link", name="Reset offsets").click()
        page.get_by_label("Go on").select_option("shift")
        page.get_by_label("Records forward").fill("-5")
        page.get_by_role("button", name="Make the plan").click()
        expect(page.get_by_text("5 read again")).to_have_count(3)
        screenshot(page, "group-reset-plan")
        page.get_by_role("button", name="Set these offsets").click()
        expect(page.get_by_role("status").first).to_contain_text(f"Group {group} goes on at new offsets in 3 partitions.")
    assert [each["committed"] for each in client.get(f"/clusters/local/groups/{group}")["page"]["items"]] == [2, 2, 2]


def test_a_person_redrives_chosen_letters(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    dead = f"{topic}.dlq"
    client.post("/clusters/local/topics", name=dead, partitions=1)
    send_letters(broker.bootstrap, topic, dead, ["line 1: no JSON", "line 2: no JSON", "field 'a' is missing"])
    with opened_page(browser, console.url) as page:
        page.goto("/clusters/local/dead-letters")
        page.get_by_role("link", name=dead).click()
        page.get_by_role("link", name="line #: no JSON").click()
        expect(page.get_by_role("checkbox")).to_have_count(2)
        page.get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Redrive the chosen ones").click()
        page.get_by_role("button", name="Send 1 letter again").click()
        expect(page.locator("#job")).to_contain_text("Redrive: done. 1 of 1 sent")
        screenshot(page, "redriven")
    (record,) = client.get(f"/clusters/local/topics/{topic}/records", begin="oldest")["records"]
    assert record["value"]["text"] == "value-1"
