"""Dead letters in the console, with the headers that pipelines and share groups write."""

from __future__ import annotations

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]

from barnabas.pipelines.redrive import redrive
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient
from tests.console.letters_of_tests import send_letters
from tests.waiting import until


@pytest.fixture
def dead(client: ConsoleClient, topic: str) -> str:
    name = f"{topic}.dead-letters"
    client.post("/clusters/local/topics", name=name, partitions=2)
    return name


def values_of(client: ConsoleClient, topic: str) -> list[str]:
    return [each["value"]["text"] for each in client.get(f"/clusters/local/topics/{topic}/records", begin="oldest", size=500)["records"]]


def test_letters_are_listed_by_reason_and_shown(client: ConsoleClient, broker: EmbeddedBroker, topic: str, dead: str) -> None:
    send_letters(broker.bootstrap, topic, dead, ["line 1: no JSON", "line 22: no JSON", "field 'a' is missing"])
    (listed,) = client.get("/clusters/local/dead-letters", search=dead)["page"]["items"]
    assert (listed["name"], listed["letters_max"]) == (dead, 3)
    address = f"/clusters/local/dead-letters/{dead}"
    shown = client.get(address)
    assert [(each["reason"], each["letters"], each["waiting"]) for each in shown["reasons"]] == [
        ("line #: no JSON", 2, 2),
        ("field … is missing", 1, 1),
    ]
    assert [each["record"]["offset"] for each in client.get(address, reason="line #: no JSON")["page"]["items"]] == [1, 0]
    one = client.get(f"{address}/letters/0/2")
    assert (one["letter"]["origin"]["reason"], one["value"], one["headers"]) == ("field 'a' is missing", "value-2", "own=1")
    for path in ("", "/letters/0/2", "/redrive"):
        assert dead in client.page(f"{address}{path}")
    assert dead in client.page("/clusters/local/dead-letters", search=dead)
    client.post(f"/clusters/local/topics/{topic}/records", value="no letter")
    assert client.http.get(f"/api/clusters/local/dead-letters/{topic}/letters/0/0").status_code in (400, 404)


def test_a_redrive_is_planned_then_sent_once_at_a_rate(client: ConsoleClient, broker: EmbeddedBroker, topic: str, dead: str) -> None:
    send_letters(broker.bootstrap, topic, dead, ["a", "b", "a", "a"])
    send_letters(broker.bootstrap, topic, dead, ["a"])
    address = f"/clusters/local/dead-letters/{dead}/redrive"
    plan = client.get(address, reason="a")
    assert (plan["total"], plan["to"], plan["repeats"], plan["left"]) == (3, {topic: 3}, 1, 1)
    assert values_of(client, topic) == []
    client.post(address, reason="a", until=plan["until"], rate=50, total=plan["total"])

    def job() -> dict[str, object] | None:
        found: dict[str, object] = client.get(f"/clusters/local/dead-letters/{dead}")["job"]
        assert found["state"] != "failed", found
        return found if found["state"] == "done" else None

    assert until(job, "the redrive is done")["sent"] == 3
    assert sorted(values_of(client, topic)) == ["value-0", "value-2", "value-3"]
    found = client.get(f"/clusters/local/topics/{topic}/records", begin="oldest")["records"][0]
    assert {each["name"]: each["value"]["text"] for each in found["headers"]} == {"own": "1", "barnabas.redriven": "1"}
    again = client.get(address)
    assert (again["total"], again["repeats"]) == (1, 4)
    states = {each["record"]["offset"]: each["state"] for each in client.get(f"/clusters/local/dead-letters/{dead}")["page"]["items"]}
    assert states == {0: "done", 1: "waiting", 2: "done", 3: "done", 4: "done"}
    # The command knows what the console has sent, and the console what the command has sent.
    report = redrive(broker.bootstrap, dead)
    assert (report.total, report.repeats) == (1, 4)
    assert client.get(address)["total"] == 0


def test_chosen_letters_and_an_edited_one_are_sent(client: ConsoleClient, broker: EmbeddedBroker, topic: str, dead: str) -> None:
    send_letters(broker.bootstrap, topic, dead, ["a", "b", "c", "d"])
    address = f"/clusters/local/dead-letters/{dead}"
    plan = client.get(f"{address}/redrive", letters=["0:1", "0:3"])
    assert (plan["total"], plan["letters"]) == (2, ["0:1", "0:3"])
    client.post(f"{address}/redrive", letters=plan["letters"], until=plan["until"], total=2)
    until(lambda: client.get(address)["job"]["state"] == "done", "the redrive is done", seen=lambda: client.get(address)["job"])
    assert sorted(values_of(client, topic)) == ["value-1", "value-3"]
    edited = {"key": "k", "key_format": "text", "value": '{"a": 1}', "value_format": "json", "headers": "fixed=yes"}
    client.post(f"{address}/letters/0/0/redrive", edited=True, **edited)
    assert '{"a": 1}' in values_of(client, topic)
    repeated = client.try_post(f"{address}/letters/0/0/redrive")
    assert (repeated.status_code, repeated.json()["parameter"]) == (400, "repeat")
    client.post(f"{address}/letters/0/0/redrive", repeat=True)
    assert "value-0" in values_of(client, topic)
    assert client.try_post(f"{address}/redrive/stop").status_code == 404


def test_letters_of_a_share_group_are_found_by_its_settings_and_redriven(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    group, dead = f"group-{topic}", f"dlq.{topic}"
    client.post("/clusters/local/topics", name=dead, partitions=1, configs="errors.deadletterqueue.group.enable=true")
    settings = {
        "share.auto.offset.reset": "earliest",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.copy.record.enable": "true",
    }
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for each in admin.incremental_alter_configs([ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)]).values():
        each.result()
    client.post(f"/clusters/local/topics/{topic}/records", key="k", key_format="text", value="poison", partition=0)
    consumer = ShareConsumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit"})
    consumer.subscribe([topic])
    address = f"/clusters/local/dead-letters/{dead}"

    def has_letter() -> bool:
        for each in consumer.poll(0.2):
            consumer.acknowledge(each, AcknowledgeType.REJECT)
        return bool(client.get(address)["page"]["items"])

    until(has_letter, "the rejected record is a letter")
    (listed,) = client.get("/clusters/local/dead-letters", search=dead)["page"]["items"]
    assert listed["known_by"] == f"of share group {group}"
    (letter,) = client.get(address)["page"]["items"]
    assert (letter["origin"]["writer"], letter["origin"]["is_of_share_group"], letter["state"]) == (group, True, "waiting")
    assert group in client.page(f"{address}/letters/0/{letter['record']['offset']}")
    consumer.close()
    client.post(f"{address}/letters/0/{letter['record']['offset']}/redrive")
    assert values_of(client, topic) == ["poison", "poison"]
    assert client.get(address)["page"]["items"][0]["state"] == "done"
