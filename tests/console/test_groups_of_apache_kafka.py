"""Groups, transactions and dead letters of a broker of Apache Kafka 4.3, in the same console."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from barnabas.console.settings import ClusterSettings
from peers.apache_kafka import apache_kafka, why_missing
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.console.groups_of_tests import commit, member, produce
from tests.console.letters_of_tests import send_letters
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing())), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def kafkas_console() -> Iterator[tuple[ConsoleThread, str]]:
    with apache_kafka() as (bootstrap, _), console_of(ClusterSettings("apache", bootstrap)) as console:
        yield console, bootstrap


@pytest.fixture
def at_kafka(kafkas_console: tuple[ConsoleThread, str]) -> ConsoleClient:
    return kafkas_console[0].client()


@pytest.fixture
def bootstrap(kafkas_console: tuple[ConsoleThread, str]) -> str:
    return kafkas_console[1]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_apache_kafka_are_shown_reset_and_lose_members(at_kafka: ConsoleClient, bootstrap: str, protocol: str) -> None:
    topic, group = f"read-{protocol}", f"readers-{protocol}"
    at_kafka.post("/clusters/apache/topics", name=topic, partitions=3)
    hour_ago = int((time.time() - 3600) * 1000)
    produce(bootstrap, topic, 30, timestamp_ms=hour_ago)
    produce(bootstrap, topic, 30, timestamp_ms=hour_ago + 600_000)
    commit(bootstrap, group, {(topic, 0): 20, (topic, 1): 15, (topic, 2): 4})
    address = f"/clusters/apache/groups/{group}"
    with member(bootstrap, group, topic, **{"group.protocol": protocol}) as consumer:
        until(lambda: at_kafka.get(address)["state"] == "Stable", "the group is stable")
        shown = at_kafka.get(address)
        rows = shown["page"]["items"]
        assert (shown["kind"], shown["lag"]) == (protocol, 21)
        assert [each["lag_seconds"] for each in rows] == [0, pytest.approx(3000, abs=200), pytest.approx(3600, abs=200)]
        assert [each["span_seconds"] for each in rows] == [0, 0, 600]
        (before,) = at_kafka.get(f"{address}/members")["page"]["items"]
        assert before["assignment"] == [{"topic": topic, "partitions": [0, 1, 2]}]
        at_kafka.post(f"{address}/remove-member", member_id=before["id"])

        def joined_again() -> bool:
            consumer.poll(0.1)
            members = at_kafka.get(f"{address}/members")["page"]["items"]
            return len(members) == 1 and bool(members[0]["assignment"])

        until(joined_again, "the client joins again")
    plan = at_kafka.get(f"{address}/reset", to="time", time=str(hour_ago + 1))
    assert [each["new"] for each in plan["rows"]] == [10, 10, 10]
    at_kafka.post(f"{address}/reset", offsets=plan["offsets"])
    assert [each["committed"] for each in at_kafka.get(address)["page"]["items"]] == [10, 10, 10]
    for path in ("", "/members", "/reset"):
        at_kafka.page(f"{address}{path}")
    at_kafka.post(f"{address}/delete-offsets", topic=topic, partition=0)
    at_kafka.post(f"{address}/delete", confirm_group=group)
    until(lambda: at_kafka.http.get(f"/api{address}").status_code == 404, "the group is gone")


def test_transactions_and_dead_letters_of_apache_kafka(at_kafka: ConsoleClient, bootstrap: str) -> None:
    for name in ("sources", "sources.dlq"):
        at_kafka.post("/clusters/apache/topics", name=name, partitions=1)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "open-one", "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("sources", b"undecided")
    producer.flush()
    (row,) = at_kafka.get("/clusters/apache/transactions", search="open-one")["page"]["items"]
    assert (row["state"], row["partitions"]) == ("Ongoing", [{"topic": "sources", "partition": 0}])
    assert at_kafka.get("/clusters/apache/transactions/hanging", minutes=0)["transactions"] == []
    at_kafka.post("/clusters/apache/transactions/ids/open-one/terminate")
    until(lambda: not at_kafka.get("/clusters/apache/transactions/ids/open-one")["partitions"], "the transaction is over")
    send_letters(bootstrap, "sources", "sources.dlq", ["a", "b"])
    letters = "/clusters/apache/dead-letters/sources.dlq"
    plan = at_kafka.get(f"{letters}/redrive")
    assert (plan["total"], plan["to"]) == (2, {"sources": 2})
    at_kafka.post(f"{letters}/redrive", until=plan["until"], total=2)
    until(lambda: at_kafka.get(letters)["job"]["state"] == "done", "the redrive is done", seen=lambda: at_kafka.get(letters)["job"])
    assert at_kafka.get(f"{letters}/redrive")["total"] == 0
