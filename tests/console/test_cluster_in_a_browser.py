"""Clusters, their brokers and their transactions as a person works with them, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException, Producer
from playwright.sync_api import Browser, Locator, Page, expect

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, reload_until, screenshot, shifted
from tests.console.console_thread import ConsoleThread, console_of
from tests.console.test_transactions import begun, leave_hanging
from tests.waiting import until

_PURPLE = "rgb(107, 63, 160)"


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker with two disks that, like older ones, does not verify transactions."""
    made = tmp_path_factory.mktemp("disks")
    config = {"log.dirs": f"{made / 'a'},{made / 'b'}", "transaction.partition.verification.enable": "false"}
    with EmbeddedBroker(config=config, data_dir=made) as started:
        yield started


@pytest.fixture(scope="module")
def of_two(own_broker: EmbeddedBroker, broker: EmbeddedBroker) -> Iterator[ConsoleThread]:
    """A console of three clusters: a test cluster, a production cluster, and one that is down."""
    clusters = (
        ClusterSettings("trial", own_broker.bootstrap),
        ClusterSettings("live", broker.bootstrap, production=True, colour="purple"),
        ClusterSettings("dead", "127.0.0.1:1"),
    )
    with console_of(*clusters) as started:
        yield started


def _row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


def _fact(page: Locator, name: str) -> Locator:
    """The value beside a name in a list of facts."""
    return page.locator("dl.facts div").filter(has=page.page.get_by_text(name, exact=True)).locator("dd")


def test_a_person_compares_the_health_of_clusters(browser: Browser, of_two: ConsoleThread) -> None:
    with opened_page(browser, of_two.url) as page:
        observe_shifts(page)
        page.goto("/clusters")
        trial, live, dead = (
            page.get_by_role("listitem").filter(has=page.get_by_role("link", name=each)) for each in ("trial", "live", "dead")
        )
        expect(trial).to_contain_text("good")
        expect(trial).not_to_contain_text("production")
        expect(_fact(trial, "Brokers")).to_have_text("1")
        expect(_fact(trial, "Offline")).to_have_text("0")
        expect(_fact(trial, "Out of sync")).to_have_text("0")
        expect(live).to_contain_text("production")
        expect(live).to_have_css("border-left-color", _PURPLE)
        expect(dead).to_contain_text("down")
        expect(dead).to_contain_text("cannot be reached")
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "clusters-side-by-side")
        page.get_by_role("link", name="trial").click()
        expect(page.get_by_role("heading", name="trial good")).to_be_visible()
        expect(_fact(page.locator("main"), "Active controller")).to_have_text("1")
        expect(_row(page, "metadata.version")).to_be_visible()
        expect(page.get_by_role("meter").first).to_be_visible()
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "cluster-at-a-glance")


def test_a_change_of_a_production_cluster_waits_for_its_name(browser: Browser, of_two: ConsoleThread, new_name: str) -> None:
    with opened_page(browser, of_two.url) as page:
        page.goto("/clusters/live/topics")
        expect(page.locator(".cluster-bar")).to_have_css("border-left-color", _PURPLE)
        expect(page.locator(".cluster-bar")).to_contain_text("production")
        page.get_by_role("link", name="New topic").click()
        page.get_by_label("Name", exact=True).fill(new_name)
        confirmation = page.get_by_label("This is a production cluster. Type its name, live, to confirm.")
        for typed in ("", "trial"):
            confirmation.fill(typed)
            page.get_by_role("button", name="Create the topic").click()
            expect(confirmation).to_be_focused()
            assert page.evaluate("document.querySelector(':invalid:not(form)').name") == "confirm"
        assert of_two.client().get("/clusters/live/topics", search=new_name)["page"]["total"] == 0
        screenshot(page, "production-guard")
        confirmation.fill("live")
        page.get_by_role("button", name="Create the topic").click()
        expect(page.get_by_role("status")).to_contain_text(f"Topic {new_name} is created.")


def _produces(broker: EmbeddedBroker, topic: str) -> Callable[[], None]:
    producer = Producer({"bootstrap.servers": broker.bootstrap})

    def produce() -> None:
        for _ in range(300):
            producer.produce(topic, b"v" * 100)
        assert producer.flush(60) == 0

    return produce


def test_a_person_sees_the_throughput_of_a_cluster_over_time(
    browser: Browser, own_broker: EmbeddedBroker, new_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A reading every few hundred milliseconds rather than every ten seconds.
    monkeypatch.setattr("barnabas.console.access.rate_collection.FINE_SECONDS", 0.3)
    with console_of(ClusterSettings("busy", own_broker.bootstrap)) as console:
        client = console.client()
        client.post("/clusters/busy/topics", name=new_name, partitions=1)
        produce = _produces(own_broker, new_name)

        def is_measured() -> bool:
            produce()
            series = [one for chart in client.get("/clusters/busy/rates")["charts"] for one in chart["series"]]
            return any(one["name"] == "records_in" and max(one["values"]) > 0 for one in series)

        until(is_measured, "the console has a rate of records")
        with opened_page(browser, console.url) as page:
            observe_shifts(page)
            page.goto("/clusters/busy")
            expect(page.locator(".chart canvas").first).to_be_visible()
            screenshot(page, "cluster-throughput")
            page.get_by_role("link", name="The last day").click()
            expect(page.get_by_role("heading", name="Rates of the last 24 hours")).to_be_visible()
            page.get_by_role("link", name="1 hour").click()
            expect(page.get_by_role("heading", name="Rates of the last hour")).to_be_visible()
            chart = page.get_by_role("img", name="Records over time")
            expect(chart.locator("canvas")).to_be_visible()
            assert shifted(page) <= SHIFT_MAX
            screenshot(page, "throughput-of-an-hour")


def test_a_person_looks_at_brokers_disks_and_the_quorum(browser: Browser, of_two: ConsoleThread, own_broker: EmbeddedBroker) -> None:
    with opened_page(browser, of_two.url) as page:
        observe_shifts(page)
        page.goto("/clusters/trial")
        page.get_by_role("link", name="Brokers", exact=True).click()
        row = _row(page, own_broker.bootstrap)
        expect(row).to_contain_text("active")
        expect(row).to_contain_text("controller")
        expect(row.get_by_role("meter")).to_have_count(2)
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "brokers-with-disks")
        row.get_by_role("link", name="1", exact=True).click()
        expect(page.get_by_role("heading", name="Broker 1")).to_be_visible()
        expect(_fact(page.locator("main"), "State")).to_have_text("active, active controller")
        assert shifted(page) <= SHIFT_MAX
        page.get_by_role("link", name="All brokers").click()
        page.get_by_role("link", name="Quorum").click()
        expect(page.get_by_role("heading", name="Controllers' quorum")).to_be_visible()
        expect(_fact(page.locator("main"), "Leader")).to_have_text("1")
        expect(page.locator("#list tbody tr")).to_contain_text("leader")
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "quorum-of-a-person")


def test_a_person_moves_a_replica_to_another_disk(
    browser: Browser, of_two: ConsoleThread, own_broker: EmbeddedBroker, new_name: str
) -> None:
    client = of_two.client()
    client.post("/clusters/trial/topics", name=new_name, partitions=1)
    _produces(own_broker, new_name)()
    disks = "/clusters/trial/brokers/1/disks"
    (replica,) = client.get(disks, search=new_name)["page"]["items"]
    target = next(each["path"] for each in client.get(disks)["disks"] if each["path"] != replica["directory"])
    with opened_page(browser, of_two.url) as page:
        page.goto("/clusters/trial/brokers/1")
        page.get_by_role("link", name="Disks", exact=True).click()
        page.get_by_role("textbox", name="Topic").fill(new_name)
        page.get_by_role("button", name="Show", exact=True).click()
        page.get_by_role("checkbox", name=f"move {new_name}/0").check()
        page.get_by_label("Move the chosen replicas to").select_option(target)
        page.get_by_role("button", name="Show the plan").click()
        expect(page.get_by_text("Nothing is moved yet.")).to_be_visible()
        expect(_row(page, new_name)).to_contain_text(replica["directory"])
        screenshot(page, "disk-plan")
        page.get_by_role("button", name="Move them").click()
        expect(page.get_by_role("status")).to_contain_text(f"1 replica of broker 1 move to {target}.")
        until(lambda: client.get(disks, search=new_name)["page"]["items"][0]["directory"] == target, "the replica is on the other disk")
        # The page follows the move by itself.
        expect(page.locator("#moves")).to_contain_text("No replica moves between directories.")


def test_a_person_changes_and_resets_a_setting_at_run_time(browser: Browser, of_two: ConsoleThread) -> None:
    name = "log.cleaner.threads"
    with opened_page(browser, of_two.url) as page:
        observe_shifts(page)
        page.goto("/clusters/trial/brokers/1")
        page.get_by_role("link", name="Settings", exact=True).click()
        page.get_by_label("Search names and descriptions").fill(name)
        expect(page.locator("#list tbody tr")).to_have_count(1)
        page.locator("summary", has_text=name).click()
        page.get_by_label(f"New value of {name}").fill("many")
        page.get_by_role("button", name="See what changes").click()
        expect(page.get_by_role("alert")).to_contain_text("Cannot change the settings of")
        expect(page.get_by_role("button", name="Set it")).to_have_count(0)
        page.go_back()
        page.locator("summary", has_text=name).click()
        page.get_by_label(f"New value of {name}").fill("2")
        page.get_by_role("button", name="See what changes").click()
        expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
        expect(page.locator("main tbody tr")).to_contain_text("this broker, changed at run time")
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "setting-preview")
        page.get_by_role("button", name="Set it").click()
        expect(page.get_by_role("status")).to_contain_text(name)
        row = page.locator("#list").get_by_role("row").filter(has_text=name)
        reload_until(page, lambda: row.count() == 1, "the page has the changed setting")
        expect(row.get_by_role("cell", name="2", exact=True)).to_be_visible()
        row.locator("summary").click()
        page.get_by_role("button", name="See what a reset changes").click()
        page.get_by_role("button", name="Reset it").click()
        expect(page.get_by_role("status")).to_contain_text(name)
        reload_until(page, lambda: row.count() == 0, "the page has no changed setting")


def test_a_person_changes_the_level_of_a_log(browser: Browser, of_two: ConsoleThread) -> None:
    with opened_page(browser, of_two.url) as page:
        page.goto("/clusters/trial/brokers/1")
        page.get_by_role("link", name="Log levels").click()
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="root", exact=True))
        before = row.get_by_role("cell").first.inner_text()
        for level in ("ERROR", before):
            page.get_by_label("New level of root").select_option(level)
            row.get_by_role("button", name="Set").click()
            expect(page.get_by_role("status")).to_contain_text(level)
            expect(row.get_by_role("cell").first).to_have_text(level)
            screenshot(page, "log-levels")


def test_a_person_lowers_and_raises_the_level_of_a_feature(browser: Browser, of_two: ConsoleThread) -> None:
    with opened_page(browser, of_two.url) as page:
        page.goto("/clusters/trial/brokers")
        page.get_by_role("link", name="Features").click()
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="streams.version", exact=True))
        for before, after, verb in (("1", "0", "Lower"), ("0", "1", "Raise")):
            reload_until(page, lambda: row.get_by_role("cell").first.inner_text() == before, f"the page has level {before}")  # noqa: B023
            page.get_by_label("New level of streams.version").fill(after)
            row.get_by_role("button", name="Check").click()
            expect(page.get_by_role("heading", name=f"{verb} streams.version")).to_be_visible()
            expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
            screenshot(page, f"feature-{verb.lower()}")
            page.get_by_role("button", name=f"{verb} it").click()
            expect(page.get_by_role("status")).to_contain_text(f"streams.version goes from level {before} to level {after}.")


def test_a_person_finds_an_open_transaction_and_aborts_it(
    browser: Browser, console: ConsoleThread, broker: EmbeddedBroker, topic: str
) -> None:
    transactional_id = f"tx-{uuid4().hex[:12]}"
    producer = begun(broker, transactional_id, topic)
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto("/clusters/local")
        page.get_by_role("link", name="Transactions", exact=True).click()
        page.get_by_label("Search transactional ids").fill(transactional_id)
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(_row(page, transactional_id)).to_contain_text("Ongoing")
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "open-transaction")
        page.get_by_role("link", name=transactional_id).click()
        expect(page.get_by_role("listitem").filter(has_text=topic)).to_contain_text("partition 0")
        page.locator("summary", has_text="Terminate").click()
        page.get_by_role("button", name="Abort the transaction and fence the producer").click()
        expect(page.get_by_role("status")).to_contain_text(transactional_id)
        reload_until(page, lambda: page.get_by_text("Ongoing").count() == 0, "the page has the aborted transaction")
        expect(page.get_by_text("None.", exact=True)).to_be_visible()
        expect(page.locator("summary", has_text="Terminate")).to_have_count(0)
        screenshot(page, "aborted-transaction")
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)


def test_a_person_finds_a_hanging_transaction_and_aborts_it(
    browser: Browser, of_two: ConsoleThread, own_broker: EmbeddedBroker, new_name: str
) -> None:
    of_two.client().post("/clusters/trial/topics", name=new_name, partitions=1)
    producer_id = leave_hanging(own_broker, new_name)
    with opened_page(browser, of_two.url) as page:
        page.goto("/clusters/trial/transactions")
        page.get_by_role("link", name="Hanging").click()
        page.get_by_label("Topic").fill(new_name)
        page.get_by_label("Minutes without a record").fill("0")
        page.get_by_role("button", name="Search").click()
        row = _row(page, new_name)
        expect(row).to_contain_text(str(producer_id))
        row.locator("summary", has_text="Abort").click()
        screenshot(page, "hanging-transaction")
        page.get_by_role("button", name=f"Abort in {new_name}-0").click()
        expect(page.get_by_role("status")).to_contain_text(
            f"The transaction of producer {producer_id} in partition 0 of topic {new_name} is aborted."
        )
