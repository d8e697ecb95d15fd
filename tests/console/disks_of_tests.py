"""Replicas that a console moves between two directories of a broker, of Barnabas or of Kafka."""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import Producer

from tests.console.console_thread import ConsoleClient
from tests.waiting import until

_THROTTLE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_RECORDS: Final = 40


def moves_are_planned_seen_cancelled_and_made(client: ConsoleClient, cluster: str, bootstrap: str) -> None:
    topic = "moved-topic"
    client.post(f"/clusters/{cluster}/topics", name=topic, partitions=1)
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(_RECORDS):
        producer.produce(topic, b"x" * 50_000)
    producer.flush()
    broker = client.get(f"/clusters/{cluster}/brokers")["brokers"][0]["id"]
    disks = f"/clusters/{cluster}/brokers/{broker}/disks"
    # So slow that a move is seen, and cancelled, on every machine.
    client.post(f"/clusters/{cluster}/brokers/{broker}/settings", name=_THROTTLE, value="1")
    (replica,) = client.get(disks, search=topic)["page"]["items"]
    shown = client.get(disks)
    target = next(each["path"] for each in shown["disks"] if each["path"] != replica["directory"])
    plan = client.get(f"{disks}/plan", replicas=f"{topic}/0", to=target)
    assert (plan["moves"][0]["source"], plan["bytes_to_copy"], plan["warning"]) == (replica["directory"], replica["size_bytes"], None)
    assert f"{topic}/0" in client.page(f"{disks}/plan", replicas=f"{topic}/0", to=target)
    for wrong, reason in ((f"{topic}/9", "moves no replica"), ("no-such-topic/0", "moves no replica")):
        refused = client.try_post(f"{disks}/moves", replicas=[wrong], to=target)
        assert refused.status_code >= 400
        assert reason in refused.json()["error"]

    assert client.post(f"{disks}/moves", replicas=[f"{topic}/0"], to=target)["done"] == f"1 replica of broker {broker} move to {target}."
    until(lambda: _moves(client, disks), "the copy is seen")
    (move,) = _moves(client, disks)
    assert (move["topic"], move["source"], move["target"]) == (topic, replica["directory"], target)
    assert move["records_behind"] > 0
    assert "records behind" in client.page(disks)
    client.post(f"{disks}/moves/cancel")
    until(lambda: not _moves(client, disks), "the move is cancelled")

    client.post(f"/clusters/{cluster}/brokers/{broker}/settings", name=_THROTTLE, value="100000000")
    client.post(f"{disks}/moves", replicas=[f"{topic}/0"], to=target)
    until(lambda: _directory(client, disks, topic) == [(target, False)], "the replica is in its new directory")
    assert len(client.get(f"/clusters/{cluster}/topics/{topic}/records", size=100)["records"]) == _RECORDS


def _moves(client: ConsoleClient, disks: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(disks)["moves"]
    return found


def _directory(client: ConsoleClient, disks: str, topic: str) -> list[tuple[str, bool]]:
    return [(each["directory"], each["is_future"]) for each in client.get(disks, search=topic)["page"]["items"]]
