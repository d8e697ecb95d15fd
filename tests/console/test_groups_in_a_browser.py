"""Groups and dead letters as a person works with them, in a real browser."""

from __future__ import annotations

import time
from uuid import uuid4

from playwright.sync_api import Browser, Locator, expect

from barnabas.console.access.lag_watch import LagWatch
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, shifted
from tests.console.console_thread import ConsoleClient, ConsoleThread
from tests.console.groups_of_tests import commit, member, produce
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


def test_a_person_removes_a_member_from_a_group(browser: Browser, console: ConsoleThread, broker: EmbeddedBroker, topic: str) -> None:
    group = f"group-{uuid4().hex[:12]}"
    with member(broker.bootstrap, group, topic), opened_page(browser, console.url) as page:
        page.goto(f"/clusters/local/groups/{group}")
        page.get_by_role("link", name="Members", exact=True).click()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr")).to_contain_text(f"{topic}: 0, 1, 2")
        page.locator("summary", has_text="Remove").click()
        expect(page.get_by_text("Its partitions go to the others. A client that runs joins again.")).to_be_visible()
        screenshot(page, "group-member-to-remove")
        page.get_by_role("button", name="Remove member-of-test").click()
        expect(page.get_by_role("status").first).to_contain_text(f"The member member-of-test has left group {group}.")


def test_a_person_resets_one_partition_and_takes_the_offsets_of_another_group(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    group = f"group-{uuid4().hex[:12]}"
    produce(broker.bootstrap, topic, 30)
    commit(broker.bootstrap, group, {(topic, each): 7 for each in range(3)})
    commit(broker.bootstrap, f"{group}-other", {(topic, 0): 9, (topic, 2): 2})

    def committed() -> list[int]:
        return [each["committed"] for each in client.get(f"/clusters/local/groups/{group}")["page"]["items"]]

    with opened_page(browser, console.url) as page:
        page.goto(f"/clusters/local/groups/{group}/reset")
        page.get_by_label("Go on").select_option("at an offset")
        page.get_by_label("Offset", exact=True).fill("3")
        page.get_by_label("Partitions of the topic").fill("1")
        page.get_by_role("button", name="Make the plan").click()
        expect(page.get_by_role("alert")).to_have_text("The partitions are those of one topic: choose the topic as well.")
        screenshot(page, "group-reset-without-a-topic")
        expect(page.get_by_role("button", name="Set these offsets")).to_have_count(0)
        # The form keeps the typed values.
        expect(page.get_by_label("Offset", exact=True)).to_have_value("3")
        expect(page.get_by_label("Partitions of the topic")).to_have_value("1")
        page.get_by_label("Topic", exact=True).first.fill(topic)
        page.get_by_role("button", name="Make the plan").click()
        expect(page.locator("tbody td")).to_have_text([topic, "1", "7", "3", "4 read again", "7"])
        assert committed() == [7, 7, 7]
        page.get_by_role("button", name="Set these offsets").click()
        expect(page.get_by_role("status").first).to_contain_text(f"Group {group} goes on at new offsets in 1 partitions.")
        assert committed() == [7, 3, 7]
        page.get_by_role("link", name="Reset offsets").click()
        page.get_by_label("Go on").select_option("where another group is")
        page.get_by_label("The other group").fill(f"{group}-other")
        page.get_by_role("button", name="Make the plan").click()
        expect(page.locator("td[data-label='Effect']")).to_have_text(["2 skipped", "5 read again"])
        assert committed() == [7, 3, 7]
        screenshot(page, "group-reset-to-another-group")
        page.get_by_role("button", name="Set these offsets").click()
        expect(page.get_by_role("status").first).to_contain_text(f"Group {group} goes on at new offsets in 2 partitions.")
        assert committed() == [9, 3, 2]


def test_a_person_sees_why_letters_failed_and_redrives_an_edited_one(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    dead = f"{topic}.dlq"
    client.post("/clusters/local/topics", name=dead, partitions=1)
    send_letters(broker.bootstrap, topic, dead, ["line 1: no JSON", "line 2: no JSON", "field 'a' is missing"])

    def values() -> list[str]:
        return [each["value"]["text"] for each in client.get(f"/clusters/local/topics/{topic}/records", begin="oldest")["records"]]

    def fact(name: str) -> Locator:
        return page.locator(".facts div").filter(has=page.get_by_text(name, exact=True)).locator("dd")

    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(f"/clusters/local/dead-letters/{dead}")
        assert shifted(page) <= SHIFT_MAX
        reasons = page.get_by_role("row").filter(has=page.locator("td[data-label='Given up by']"))
        expect(reasons.locator("td[data-label='Reason'] a")).to_have_text(["line #: no JSON", "field … is missing"])
        expect(reasons.locator("td[data-label='Letters']")).to_have_text(["2", "1"])
        expect(reasons.locator("td[data-label='Given up by']")).to_have_text(["payments", "payments"])
        page.get_by_role("link", name="Redrive…").click()
        expect(page.get_by_text("Nothing is sent yet.")).to_be_visible()
        expect(fact("Would be sent")).to_have_text("3")
        assert values() == []
        screenshot(page, "redrive-planned")
        page.get_by_role("link", name="Letters", exact=True).click()
        page.get_by_role("link", name="0/2", exact=True).click()
        expect(page.get_by_role("main")).to_contain_text("field 'a' is missing")
        expect(fact("Sent again")).to_have_text("0 times")
        page.locator("summary", has_text="Edit and send it to").click()
        page.get_by_role("textbox", name="Value", exact=True).fill('{"a": 1}')
        page.get_by_label("Value is").select_option("json")
        screenshot(page, "letter-edited")
        page.get_by_role("button", name="Send the edited record").click()
        expect(page.get_by_role("status").first).to_contain_text(f"The record is in topic {topic} again.")
        expect(page.locator("td[data-label='State']")).to_have_text(["done", "waiting", "waiting"])
        page.get_by_role("link", name="Redrive…").click()
        expect(fact("Would be sent")).to_have_text("2")
        expect(fact("Sent before")).to_have_text("1")
    assert values() == ['{"a": 1}']


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
