"""A topic as a person changes it, and looks for its users, in a real browser."""

from __future__ import annotations

import re
from uuid import uuid4

from confluent_kafka import Producer
from playwright.sync_api import Browser, Locator, Page, expect

from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, shifted
from tests.console.console_thread import ConsoleClient, ConsoleThread
from tests.console.groups_of_tests import commit, produce


def _fact(page: Page, name: str) -> Locator:
    """The value beside a name in the panel of facts."""
    return page.locator(".facts div").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def test_a_person_adds_partitions_to_a_topic(browser: Browser, console: ConsoleThread, topic: str) -> None:
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(f"/clusters/local/topics/{topic}")
        assert shifted(page) <= SHIFT_MAX
        expect(_fact(page, "Partitions")).to_have_text("3")
        page.locator("summary", has_text="Add partitions").click()
        expect(page.get_by_text("Records with the same key go to another partition than before.")).to_be_visible()
        page.get_by_label("New number of partitions").fill("5")
        page.get_by_role("button", name="Add partitions").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {topic} has 5 partitions now.")
        expect(_fact(page, "Partitions")).to_have_text("5")
        expect(page.get_by_role("rowheader")).to_have_text(["0", "1", "2", "3", "4"])
        screenshot(page, "topic-grown")


def test_a_person_changes_a_setting_and_sees_its_meaning_and_source(browser: Browser, console: ConsoleThread, topic: str) -> None:
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(f"/clusters/local/topics/{topic}")
        page.get_by_role("link", name="Settings", exact=True).click()
        page.wait_for_load_state()
        assert shifted(page) <= SHIFT_MAX
        everything = page.locator("#list tbody tr").count()
        page.get_by_label("Search names and descriptions").press_sequentially("retention.ms")
        # A pause between two keys asks for a part of the text first.
        expect(page).to_have_url(re.compile(r"[?&]search=retention\.ms(&|$)"))
        expect(page.locator("#list tbody tr")).not_to_have_count(everything)
        name = page.locator("summary").get_by_text("retention.ms", exact=True)
        row = page.get_by_role("row").filter(has=page.get_by_label("New value of retention.ms", exact=True))
        expect(row).to_contain_text("Kafka's default")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        name.click()
        expect(row.get_by_text("How long a record is kept before its segment may be deleted")).to_be_visible()
        # A list that loads again when the focus leaves the search would close what a person opens.
        assert asked == []
        row.get_by_label("New value").fill("soon")
        row.get_by_role("button", name="Set", exact=True).click()
        expect(row.get_by_role("alert")).to_contain_text("soon")
        row.get_by_label("New value").fill("86400000")
        row.get_by_role("button", name="Set", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text(f"retention.ms of topic {topic} is '86400000' now.")
        page.wait_for_load_state()
        page.get_by_label("Only those of this topic").check()
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(row.get_by_role("cell")).to_contain_text(["retention.ms", "86400000", "this topic"])
        name.click()
        screenshot(page, "topic-setting-changed")
        row.get_by_role("button", name="Unset").click()
        expect(page.get_by_role("status")).to_contain_text(f"retention.ms of topic {topic} is unset.")
        expect(row).to_contain_text("Kafka's default")


def test_a_person_empties_a_topic(browser: Browser, console: ConsoleThread, broker: EmbeddedBroker, topic: str) -> None:
    produce(broker.bootstrap, topic, 30)
    with opened_page(browser, console.url) as page:
        page.goto(f"/clusters/local/topics/{topic}")
        expect(_fact(page, "Records at most")).to_have_text("30")
        page.locator("summary", has_text="Delete all records").click()
        typed = page.get_by_label(f"Type the name of the topic, {topic}", exact=True)
        typed.fill("another")
        page.get_by_role("button", name="Delete all records").click()
        expect(page.get_by_role("alert")).to_contain_text(f"Type the name of the topic, {topic}, to confirm.")
        typed.fill(topic)
        page.get_by_role("button", name="Delete all records").click()
        expect(page.get_by_role("status")).to_contain_text(f"The records of topic {topic} are deleted in 3 partitions.")
        expect(_fact(page, "Records at most")).to_have_text("0")
        # The topic stays, and so do its offsets: first and end offset of each partition are equal.
        expect(page.locator("td[data-label='First offset'], td[data-label='End offset']")).to_have_text(["10"] * 6)
        screenshot(page, "topic-emptied")


def test_a_person_clones_a_topic_with_its_settings(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    client.post(f"/clusters/local/topics/{topic}/settings", name="cleanup.policy", value="compact")
    produce(broker.bootstrap, topic, 3)
    with opened_page(browser, console.url) as page:
        page.goto(f"/clusters/local/topics/{topic}")
        page.locator("summary", has_text="Clone").click()
        expect(page.get_by_label("Name of the new topic")).to_have_value(f"{topic}-copy")
        page.get_by_role("button", name="Clone").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {topic}-copy has the partitions and settings of {topic}.")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"{topic}-copy")
        expect(_fact(page, "Partitions")).to_have_text("3")
        expect(_fact(page, "Records at most")).to_have_text("0")
        screenshot(page, "topic-cloned")
        page.get_by_role("link", name="Settings", exact=True).click()
        page.wait_for_load_state()
        page.get_by_label("Only those of this topic").check()
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(page.locator("#list tbody td")).to_contain_text(["cleanup.policy", "compact", "this topic"])


def test_a_person_sees_the_groups_and_producers_that_use_a_topic(
    browser: Browser, console: ConsoleThread, broker: EmbeddedBroker, topic: str
) -> None:
    group = f"group-{uuid4().hex[:12]}"
    produce(broker.bootstrap, topic, 30)
    commit(broker.bootstrap, group, {(topic, 0): 4, (topic, 1): 10})
    writer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"writer-{topic}"})
    writer.init_transactions()
    writer.begin_transaction()
    writer.produce(topic, "unfinished", partition=2)
    writer.flush()
    # The console reuses its list of groups for a few seconds.
    console.services.client(console.settings.clusters[0], None).forget()
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(f"/clusters/local/topics/{topic}")
        expect(page.get_by_text("open transaction at 10")).to_be_visible()
        page.get_by_role("link", name="Users", exact=True).click()
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=group))
        expect(row.get_by_role("cell")).to_have_text([group, "classic", "Empty", "2", "6"])
        expect(page.get_by_text("open since offset 10")).to_be_visible()
        page.wait_for_load_state()
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "topic-users-and-producers")
        page.get_by_role("link", name=group).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(group)
    writer.abort_transaction()
