"""Share groups and streams groups as a person sees and resets them, in a real browser."""

from __future__ import annotations

from uuid import uuid4

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]
from playwright.sync_api import Browser, expect

from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, reload_until, screenshot, shifted
from tests.console.console_thread import ConsoleClient, ConsoleThread
from tests.console.groups_of_tests import produce, streams_member
from tests.waiting import until


@pytest.fixture
def group(broker: EmbeddedBroker) -> str:
    """The name of a share group that begins with the first record."""
    name = f"group-{uuid4().hex[:12]}"
    setting = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, name, incremental_configs=[setting])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for each in admin.incremental_alter_configs([resource]).values():
        each.result()
    return name


def test_a_person_sees_members_and_deliveries_of_a_share_group_and_resets_it(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str
) -> None:
    produce(broker.bootstrap, topic, 30)
    address = f"/clusters/local/groups/{group}"
    consumer = ShareConsumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit", "client.id": "sharer"}
    )
    consumer.subscribe([topic])
    seen: set[tuple[int | None, int | None]] = set()

    def all_delivered() -> bool:
        for each in consumer.poll(0.5):
            consumer.acknowledge(each, AcknowledgeType.ACCEPT if (each.offset() or 0) < 4 else AcknowledgeType.RELEASE)
            seen.add((each.partition(), each.offset()))
        return len(seen) == 30

    until(all_delivered, "every record is delivered")
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto("/clusters/local/groups")
        page.get_by_label("Kind").select_option("share")
        page.get_by_label("Search").fill(group)
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(page.locator("#list tbody tr")).to_contain_text("share")
        page.goto(f"{address}/members")
        expect(page.locator("tbody tr")).to_contain_text("sharer")
        expect(page.locator("tbody tr")).to_contain_text(f"{topic}: 0, 1, 2")
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "share-group-members")
        page.goto(f"{address}/reset?to=earliest")
        expect(page.get_by_role("alert")).to_contain_text("has 1: stop them first")
        expect(page.get_by_role("button", name="Set these offsets")).to_have_count(0)
        consumer.close()
        until(lambda: client.get(address)["lag"] == 18, "the group has accepted four records of each partition")
        page.goto(f"{address}/deliveries")
        # The state may still have the accepted records as well.
        released = page.locator("tbody tr").filter(has_text="available")
        reload_until(page, lambda: released.count() == 3, "the page shows the released records")
        expect(released.locator("td[data-label='First offset']")).to_have_text(["4"] * 3)
        expect(released.locator("td[data-label='Last offset']")).to_have_text(["9"] * 3)
        assert all(int(each) >= 1 for each in released.locator("td[data-label='Deliveries']").all_inner_texts())
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "share-group-deliveries")
        page.get_by_role("link", name="Lag", exact=True).click()
        expect(page.locator("td[data-label='Records behind']")).to_have_text(["6"] * 3)
        page.get_by_role("link", name="Reset offsets").click()
        page.get_by_label("Go on").select_option("at the first record")
        page.get_by_role("button", name="Make the plan").click()
        expect(page.locator("td[data-label='New offset']")).to_have_text(["0"] * 3)
        expect(page.locator("td[data-label='Records behind then']")).to_have_text(["10"] * 3)
        # So far it is a plan.
        assert client.get(address)["lag"] == 18
        screenshot(page, "share-group-reset-plan")
        page.get_by_role("button", name="Set these offsets").click()
        expect(page.get_by_role("status").first).to_contain_text(f"Group {group} goes on at new offsets in 3 partitions.")
    until(lambda: client.get(address)["lag"] == 30, "the group begins again")


def test_a_person_sees_the_topology_and_tasks_of_a_streams_group(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    name = f"group-{uuid4().hex[:12]}"
    address = f"/clusters/local/groups/{name}"
    with streams_member(broker.bootstrap, name, topic), opened_page(browser, console.url) as page:
        observe_shifts(page)

        def has_tasks() -> bool:
            members = client.get(f"{address}/members")["page"]["items"]
            return bool(members and members[0]["active_tasks"])

        until(has_tasks, "the member has tasks", retry_on=AssertionError)
        page.goto("/clusters/local/groups?kind=streams")
        page.get_by_role("link", name=name).click()
        topology = page.get_by_role("row").filter(has=page.locator("td[data-label='Subtopology']"))
        expect(topology).to_have_count(1)
        expect(topology.locator("td")).to_have_text(["0", "source", topic])
        # The group has committed no offset, so its lag is unknown.
        expect(page.locator(".facts dd").first).to_have_text("\N{EN DASH}")
        screenshot(page, "streams-group")
        page.goto(address)
        assert shifted(page) <= SHIFT_MAX
        page.get_by_role("link", name="Members", exact=True).click()
        expect(page.locator("td[data-label='Tasks']")).to_contain_text("active 0_0, 0_1, 0_2")
        screenshot(page, "streams-group-members")
