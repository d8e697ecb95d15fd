"""Moves of replicas and elections of leaders as a person makes them, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from playwright.sync_api import Browser, expect

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedCluster
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, reload_until, screenshot, shifted
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

MOVES = "/clusters/three/reassignment"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(config={"auto.leader.rebalance.enable": False}) as started:
        yield started


@pytest.fixture(scope="module")
def of_three(cluster: EmbeddedCluster) -> Iterator[ConsoleThread]:
    with console_of(ClusterSettings("three", cluster.bootstrap)) as started:
        yield started


@pytest.fixture
def client(of_three: ConsoleThread) -> ConsoleClient:
    return of_three.client()


def _fill(cluster: EmbeddedCluster, topic: str, records: int) -> None:
    """10 KB for each record, in partition 0."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "compression.type": "none"})
    for _ in range(records):
        producer.produce(topic, b"v" * 10_000, partition=0)
    assert producer.flush(60) == 0


def _leaders_and_replicas(cluster: EmbeddedCluster, topic: str) -> list[tuple[int, list[int]]]:
    """As librdkafka sees them, by partition. The first replica is the preferred leader."""
    partitions = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(topic, timeout=30).topics[topic].partitions
    return [(partitions[each].leader, partitions[each].replicas) for each in sorted(partitions)]


def test_a_person_moves_a_partition_watches_it_and_cancels(
    browser: Browser, of_three: ConsoleThread, client: ConsoleClient, cluster: EmbeddedCluster
) -> None:
    name = f"moved-{uuid4().hex[:12]}"
    client.post("/clusters/three/topics", name=name, partitions=1, replication_factor=1)
    _fill(cluster, name, 1_500)
    ((old, _),) = _leaders_and_replicas(cluster, name)
    new = old % 3 + 1
    with opened_page(browser, of_three.url) as page:
        observe_shifts(page)
        page.goto(MOVES)
        assert shifted(page) <= SHIFT_MAX
        page.get_by_label("Topics").select_option(name)
        for broker in {1, 2, 3} - {new}:
            page.get_by_role("checkbox", name=str(broker)).uncheck()
        page.get_by_role("button", name="Show the plan").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Plan for 1 topic")
        expect(page.get_by_text("Nothing is moved yet.")).to_be_visible()
        move = page.get_by_role("row").filter(has_text=name)
        expect(move.locator("td[data-label='Replicas now']")).to_have_text(str(old))
        expect(move.locator("td[data-label='Then']")).to_have_text(str(new))
        expect(page.locator(".facts")).to_contain_text("14.3 MiB")
        assert shifted(page) <= SHIFT_MAX
        assert _leaders_and_replicas(cluster, name) == [(old, [old])]
        # Slow enough that the move is still running when the person cancels it.
        page.get_by_label("Throttle").fill("1000")
        page.get_by_role("button", name="Start to move").click()
        row = page.locator("#moves").get_by_role("row").filter(has_text=name)
        expect(row.get_by_role("progressbar")).to_be_visible()
        expect(row.locator("td[data-label='Coming']")).to_have_text(str(new))
        expect(row.locator("td[data-label='Progress']")).to_contain_text("of 14.3 MiB")
        expect(page.locator("#moves")).to_contain_text("Replication is throttled")
        screenshot(page, "reassignment-running")
        page.locator("summary", has_text="Cancel moves").click()
        page.get_by_label("Topic", exact=True).fill(name)
        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("1 partition keeps the old replicas.")
        expect(page.locator("#moves")).to_contain_text("No partition is being moved.")
        screenshot(page, "reassignment-cancelled")
    until(lambda: _leaders_and_replicas(cluster, name) == [(old, [old])], "the old replica stays")
    until(lambda: client.get(MOVES)["throttles"] == {}, "the console removes the throttles")


def test_a_person_drains_a_broker_after_a_look_at_the_plan(browser: Browser, of_three: ConsoleThread, cluster: EmbeddedCluster) -> None:
    name = f"drained-{uuid4().hex[:12]}"
    of_three.client().post("/clusters/three/topics", name=name, partitions=3, replication_factor=1)
    with opened_page(browser, of_three.url) as page:
        page.goto(MOVES)
        page.get_by_label("Broker", exact=True).select_option("3")
        page.get_by_role("button", name="Show the plan").last.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Plan to drain broker 3")
        drained = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="3", exact=True))
        expect(drained.locator("td[data-label='Replicas then']")).to_have_text("0")
        screenshot(page, "drain-plan")
        page.get_by_role("button", name="Start to move").click()
        # Small moves may be done before the page is drawn.
        expect(page.locator("#moves")).to_contain_text("No partition is being moved.")
    until(lambda: all(replicas != [3] for _, replicas in _leaders_and_replicas(cluster, name)), "broker 3 has no replica of the topic")


def test_a_person_elects_preferred_leaders_after_a_restart(
    browser: Browser, of_three: ConsoleThread, client: ConsoleClient, cluster: EmbeddedCluster
) -> None:
    name = f"led-{uuid4().hex[:12]}"
    client.post("/clusters/three/topics", name=name, partitions=3, replication_factor=3)
    cluster.stop(2)
    cluster.start(2)

    def away() -> list[bool]:
        items = client.get(f"{MOVES}/leaders", size=500)["page"]["items"]
        return [each["is_possible"] for each in items if each["topic"] == name]

    until(lambda: away() == [True], "broker 2 is in sync, and does not lead")
    with opened_page(browser, of_three.url) as page:
        observe_shifts(page)
        page.goto(f"{MOVES}/leaders?size=500")
        assert shifted(page) <= SHIFT_MAX
        row = page.get_by_role("row").filter(has_text=name)
        expect(row.locator("td[data-label='Preferred']")).to_have_text("2")
        expect(row).to_contain_text("can move")
        loads = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="2", exact=True)).locator("td")
        (load,) = [each for each in client.get(f"{MOVES}/leaders")["leads"] if each["broker"] == 2]
        assert load["then"] > load["now"]
        expect(loads).to_have_text([str(load["now"]), str(load["then"])])
        screenshot(page, "preferred-leaders-away")
        page.get_by_role("button", name="Elect").click()
        expect(page.get_by_role("status").first).to_contain_text("led by the preferred leader now.")
        reload_until(
            page, lambda: page.get_by_text("Every partition is led by its preferred leader.").count() == 1, "the page shows the election"
        )
        screenshot(page, "preferred-leaders-elected")

    def all_lead() -> bool:
        found = _leaders_and_replicas(cluster, name)
        return len(found) == 3 and all(leader == replicas[0] for leader, replicas in found)

    until(all_lead, "librdkafka sees the preferred leaders", seen=lambda: _leaders_and_replicas(cluster, name))
