"""Reassignment at a cluster of three brokers: plans, progress, throttles, cancellation, leaders."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, expect

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedCluster
from tests.console.browser import opened_page, screenshot
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

_MOVES = "/clusters/three/reassignment"


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


@pytest.fixture
def topic(client: ConsoleClient, cluster: EmbeddedCluster) -> str:
    """A topic with three partitions of one replica each, one on each broker, with some data."""
    name = f"moving-{uuid4().hex[:12]}"
    client.post("/clusters/three/topics", name=name, partitions=3, replication_factor=1)
    _fill(cluster, name, 100)
    return name


def _fill(cluster: EmbeddedCluster, topic: str, records: int, *, partitions: int = 3) -> None:
    """10 KB for each record of each partition."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "compression.type": "none"})
    for number in range(records * partitions):
        producer.produce(topic, b"v" * 10_000, partition=number % partitions)
    assert producer.flush(60) == 0


def _replicas(client: ConsoleClient, topic: str) -> list[list[int]]:
    partitions = client.get(f"/clusters/three/topics/{topic}")["partitions"]
    return [sorted(replica["broker"] for replica in each["replicas"]) for each in partitions]


def _done(client: ConsoleClient) -> None:
    until(lambda: client.get(_MOVES)["moves"] == [], "no partition is being moved")


def test_a_plan_is_shown_before_it_runs_and_then_moves_the_partitions(client: ConsoleClient, topic: str) -> None:
    before = _replicas(client, topic)
    plan = client.get(f"{_MOVES}/plan", topics=topic, brokers=[1, 2])
    moved = [each for each in plan["page"]["items"] if each["adding"]]
    assert [each["removing"] for each in moved] == [[3]]
    assert plan["copied_bytes"] > 1_000_000
    assert _replicas(client, topic) == before
    page = client.page(f"{_MOVES}/plan", topics=topic, brokers=[1, 2])
    assert "Nothing is moved yet." in page
    assert plan["digest"] in page
    client.post(_MOVES, topics=[topic], brokers=["1", "2"], digest=plan["digest"])
    _done(client)
    until(lambda: all(each in ([1], [2]) for each in _replicas(client, topic)), "the brokers know the new replicas")
    assert client.get(f"{_MOVES}/plan", topics=topic, brokers=[1, 2])["page"]["total"] == 0


def test_a_plan_that_was_not_shown_is_refused(client: ConsoleClient, topic: str) -> None:
    old = client.get(f"{_MOVES}/plan", topics=topic, brokers=[1])["digest"]
    refused = client.try_post(_MOVES, topics=[topic], brokers=["2"], digest=old)
    assert (refused.status_code, refused.json()["parameter"]) == (400, "digest")
    assert client.try_post(_MOVES, topics=[topic], brokers=["2"]).status_code == 400
    assert client.get(_MOVES)["moves"] == []


def test_a_drained_broker_has_no_replicas_and_others_stay(client: ConsoleClient, topic: str) -> None:
    plan = client.get(f"{_MOVES}/plan", drain=3, size=500)
    assert all(3 in each["before"] and 3 not in each["after"] for each in plan["page"]["items"])
    assert all(len(each["adding"]) == 1 for each in plan["page"]["items"])
    client.post(_MOVES, drain=3, digest=plan["digest"])
    _done(client)
    until(lambda: client.get("/clusters/three/brokers/3")["broker"]["replicas"] == 0, "broker 3 is empty")


def test_a_throttled_move_shows_its_progress_and_is_cancelled(client: ConsoleClient, cluster: EmbeddedCluster, topic: str) -> None:
    # More than one fetch of a follower: the throttle acts between fetches.
    _fill(cluster, topic, 1_500)
    client.post(_MOVES, topics=[topic], brokers=["1"], digest=client.get(f"{_MOVES}/plan", topics=topic, brokers=[1])["digest"])
    _done(client)
    until(lambda: _replicas(client, topic) == [[1]] * 3, "the brokers know the new replicas")
    plan = client.get(f"{_MOVES}/plan", topics=topic, brokers=[2])
    started = client.post(_MOVES, topics=[topic], brokers=["2"], digest=plan["digest"], throttle=1000)
    assert "1000 bytes a second" in started["done"]
    shown = client.get(_MOVES)
    assert [(each["adding"], each["removing"]) for each in shown["moves"]] == [([2], [1])] * 3
    assert all(0 <= each["copied_bytes"] <= each["total_bytes"] for each in shown["moves"])
    until(lambda: client.get(_MOVES)["throttles"] == {"1": 1000, "2": 1000}, "the throttles are shown")
    page = client.page(_MOVES)
    assert "<progress" in page
    assert "throttled" in page
    more = client.try_post(_MOVES, topics=[topic], brokers=["3"], digest=client.get(f"{_MOVES}/plan", topics=topic, brokers=[3])["digest"])
    assert (more.status_code, more.json()["parameter"]) == (400, "additional")
    client.post(f"{_MOVES}/cancel", topic=topic)
    assert client.get(_MOVES)["moves"] == []
    until(lambda: _replicas(client, topic) == [[1]] * 3, "the brokers know that the old replicas stay")
    until(lambda: client.get(_MOVES)["throttles"] == {}, "the console removes the throttles when no partition moves")
    assert client.try_post(f"{_MOVES}/cancel").status_code == 404


def test_a_person_moves_a_replica_after_a_look_at_the_plan(
    browser: Browser, of_three: ConsoleThread, client: ConsoleClient, cluster: EmbeddedCluster
) -> None:
    name = f"moved-{uuid4().hex[:12]}"
    client.post("/clusters/three/topics", name=name, partitions=1, replication_factor=1)
    _fill(cluster, name, 1_500, partitions=1)
    ((old,),) = _replicas(client, name)
    new = old % 3 + 1
    with opened_page(browser, of_three.url) as page:
        page.goto(_MOVES)
        page.get_by_label("Topics").select_option(name)
        for broker in {1, 2, 3} - {new}:
            page.get_by_role("checkbox", name=str(broker)).uncheck()
        page.get_by_role("button", name="Show the plan").first.click()
        expect(page.get_by_text("Nothing is moved yet.")).to_be_visible()
        expect(page.get_by_role("row").filter(has_text=name)).to_contain_text(str(new))
        screenshot(page, "reassignment-plan")
        assert _replicas(client, name) == [[old]]
        # Slow enough that the move is still running when the page shows it.
        page.get_by_label("Throttle").fill("1000")
        page.get_by_role("button", name="Start to move").click()
        row = page.locator("#moves").get_by_role("row").filter(has_text=name)
        expect(row.get_by_role("progressbar")).to_be_visible()
        screenshot(page, "reassignment-progress")
        page.locator("summary", has_text="Remove the throttles").click()
        page.get_by_role("button", name="Remove the throttles").click()
        # The page follows the move by itself.
        expect(page.locator("#moves")).to_contain_text("No partition is being moved.")
    until(lambda: _replicas(client, name) == [[new]], "the brokers know the new replica")


def test_throttles_are_removed_on_request(client: ConsoleClient) -> None:
    def is_throttled() -> bool:
        # The console may be about to remove the throttles of an earlier test.
        client.post("/clusters/three/brokers/1/settings", name="leader.replication.throttled.rate", value=5000)
        return bool(client.get(_MOVES)["throttles"] == {"1": 5000})

    until(is_throttled, "the throttle is shown")
    assert "No partition is being moved." in client.page(_MOVES)
    client.post(f"{_MOVES}/throttles/remove")
    until(lambda: client.get(_MOVES)["throttles"] == {}, "the throttle is gone")


def test_preferred_leaders_are_elected_after_a_restart(client: ConsoleClient, cluster: EmbeddedCluster) -> None:
    name = f"led-{uuid4().hex[:12]}"
    client.post("/clusters/three/topics", name=name, partitions=3, replication_factor=3)
    cluster.stop(2)
    cluster.start(2)

    def away() -> list[dict[str, object]]:
        items = client.get(f"{_MOVES}/leaders", size=500)["page"]["items"]
        return [each for each in items if each["topic"] == name]

    until(lambda: [each["is_possible"] for each in away()] == [True], "broker 2 is in sync, and does not lead")
    (move,) = away()
    assert move["preferred"] == 2
    shown = client.get(f"{_MOVES}/leaders")
    assert next(each for each in shown["leads"] if each["broker"] == 2)["then"] > 0
    assert name in client.page(f"{_MOVES}/leaders", size=500)
    client.post(f"{_MOVES}/leaders", topic=name)
    until(lambda: away() == [], "every partition is led by its preferred leader")
    assert client.try_post(f"{_MOVES}/leaders", topic=name).status_code == 404


def test_unknown_topics_and_brokers_are_refused(client: ConsoleClient, topic: str) -> None:
    assert client.http.get(f"/api{_MOVES}/plan", params={"topics": "no-such-topic"}).status_code == 404
    assert client.http.get(f"/api{_MOVES}/plan", params={"topics": topic, "brokers": "9"}).status_code == 400
    assert client.http.get(f"/api{_MOVES}/plan", params={"topics": topic, "brokers": "one"}).status_code == 400
    assert client.http.get(f"/api{_MOVES}/plan").status_code == 400
