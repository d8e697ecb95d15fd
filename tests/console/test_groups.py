"""Groups of every kind in the console, made by real clients."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from confluent_kafka import AcknowledgeType, Message, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]

from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient
from tests.console.groups_of_tests import commit, member, produce, streams_heartbeat, streams_topology
from tests.waiting import until

# A removed member learns of it with its next heartbeat.
QUICK = {"classic": {"heartbeat.interval.ms": "500"}, "consumer": {}}


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex[:12]}"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_shows_members_assignment_offsets_and_lag(
    client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str, protocol: str
) -> None:
    hour_ago = int((time.time() - 3600) * 1000)
    produce(broker.bootstrap, topic, 30, timestamp_ms=hour_ago)
    produce(broker.bootstrap, topic, 30, timestamp_ms=hour_ago + 600_000)
    commit(broker.bootstrap, group, {(topic, 0): 20, (topic, 1): 15, (topic, 2): 4})
    with member(broker.bootstrap, group, topic, **{"group.protocol": protocol}):
        until(lambda: client.get(f"/clusters/local/groups/{group}")["state"] == "Stable", "the group is stable")
        shown = client.get(f"/clusters/local/groups/{group}")
        rows = shown["page"]["items"]
        assert (shown["kind"], shown["members_total"], shown["lag"]) == (protocol, 1, 21)
        assert [(each["committed"], each["end"], each["lag"]) for each in rows] == [(20, 20, 0), (15, 20, 5), (4, 20, 16)]
        assert [each["client_ids"] for each in rows] == [["member-of-test"]] * 3
        waits = [each["lag_seconds"] for each in rows]
        assert waits[0] == 0
        assert waits[1] == pytest.approx(3000, abs=120)
        assert waits[2] == pytest.approx(3600, abs=120)
        assert [each["span_seconds"] for each in rows] == [0, 0, 600]
        (found,) = client.get(f"/clusters/local/groups/{group}/members")["page"]["items"]
        assert (found["client_id"], found["assignment"]) == ("member-of-test", [{"topic": topic, "partitions": [0, 1, 2]}])
        page = client.page(f"/clusters/local/groups/{group}")
        assert topic in page
        assert "16" in page
        assert found["id"] in client.page(f"/clusters/local/groups/{group}/members")
        (row,) = client.get("/clusters/local/groups", search=group)["page"]["items"]
        assert (row["kind"], row["members"], row["partitions"], row["lag"]) == (protocol, 1, 3, 21)
        assert row["lag_seconds"] == pytest.approx(3600, abs=120)


def test_lists_of_groups_have_search_kinds_states_and_pages(client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str) -> None:
    for number in range(5):
        commit(broker.bootstrap, f"{group}-{number}", {(topic, 0): 0})
    until(lambda: client.get("/clusters/local/groups", search=group)["page"]["total"] == 5, "all groups are listed")
    first = client.get("/clusters/local/groups", search=group, size=2, state="Empty", kind="classic")
    assert (first["page"]["pages"], [each["id"] for each in first["page"]["items"]]) == (3, [f"{group}-0", f"{group}-1"])
    assert (first["kinds"], first["states"]) == ({"classic": 5}, {"Empty": 5})
    assert client.get("/clusters/local/groups", search=group, kind="share")["page"]["total"] == 0
    assert 'rel="next"' in client.page("/clusters/local/groups", search=group, size=2)
    assert client.http.get("/api/clusters/local/groups/no-such-group").status_code == 404


def test_groups_are_ordered_by_lag_members_and_partitions_on_every_page(
    client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str
) -> None:
    produce(broker.bootstrap, topic, 30)
    for number, offsets in enumerate(({0: 10}, {0: 1}, {0: 8, 1: 8})):
        commit(broker.bootstrap, f"{group}-{number}", {(topic, partition): offset for partition, offset in offsets.items()})

    def names(sort: str, **query: object) -> list[str]:
        found = client.get("/clusters/local/groups", search=group, sort=sort, **query)
        assert found["measured"] == found["page"]["total"]
        return [each["id"].removeprefix(f"{group}-") for each in found["page"]["items"]]

    def ordered(sort: str, expected: list[str], **query: object) -> None:
        # The numbers arrive while the page is already there.
        until(lambda: names(sort, **query) == expected, f"groups in the order {sort}", retry_on=AssertionError)

    ordered("-lag", ["1", "2", "0"])
    ordered("lag", ["0", "2", "1"])
    ordered("lag", ["2"], size=1, page=2)
    ordered("-partitions", ["2", "0", "1"])
    with member(broker.bootstrap, f"{group}-9", topic):
        ordered("-members", ["9", "0", "1", "2"])
        # A group without offsets has no lag.
        ordered("lag", ["0", "2", "1", "9"])
    page = client.page("/clusters/local/groups", search=group, sort="-lag", size=1)
    assert 'aria-sort="descending"' in page
    assert "sort=-lag" in page.split('rel="next"')[0].rpartition("<a ")[2]
    assert client.http.get("/api/clusters/local/groups", params={"sort": "colour"}).status_code == 400
    operation = client.get("/openapi.json")["paths"]["/api/clusters/{cluster}/groups"]["get"]
    (sort,) = [each for each in operation["parameters"] if each["name"] == "sort"]
    assert {"lag", "-lag", "members", "-members"} <= set(sort["schema"]["enum"])


def test_a_group_whose_records_or_topic_are_gone_says_so(client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str) -> None:
    produce(broker.bootstrap, topic, 9)
    commit(broker.bootstrap, group, {(topic, 0): 1, (topic, 1): 3})
    client.post(f"/clusters/local/topics/{topic}/empty", confirm_topic=topic)
    rows = client.get(f"/clusters/local/groups/{group}")["page"]["items"]
    assert [(each["lag"], each["remark"]) for each in rows] == [(0, "2 offsets were deleted before the group read them."), (0, "")]


def test_the_history_of_lag_grows_with_each_sample(client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str) -> None:
    produce(broker.bootstrap, topic, 6)
    commit(broker.bootstrap, group, {(topic, 0): 0, (topic, 1): 2})
    history = client.get(f"/clusters/local/groups/{group}")["history"]
    assert history["records"] == [2]
    assert len(history["times"]) == len(history["seconds"]) == 1


def test_a_share_group_shows_its_start_lag_members_and_deliveries(
    client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str
) -> None:
    broker_admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    setting = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    for each in broker_admin.incremental_alter_configs([ConfigResource(ResourceType.GROUP, group, incremental_configs=[setting])]).values():
        each.result()
    produce(broker.bootstrap, topic, 30)
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit", "client.id": "sharer"}
    consumer = ShareConsumer(settings)
    consumer.subscribe([topic])
    got: list[Message] = []

    def all_delivered() -> bool:
        for each in consumer.poll(0.5):
            consumer.acknowledge(each, AcknowledgeType.ACCEPT if (each.offset() or 0) < 4 else AcknowledgeType.RELEASE)
            got.append(each)
        return len({(each.partition(), each.offset()) for each in got}) == 30

    until(all_delivered, "every record is delivered once")
    address = f"/clusters/local/groups/{group}"
    shown = client.get(address)
    assert (shown["kind"], shown["members_total"]) == ("share", 1)
    (found,) = client.get(f"{address}/members")["page"]["items"]
    assert (found["client_id"], found["assignment"]) == ("sharer", [{"topic": topic, "partitions": [0, 1, 2]}])
    consumer.close()
    until(lambda: client.get(address)["lag"] == 18, "the group has accepted four records of each partition")
    rows = client.get(address)["page"]["items"]
    assert [each["lag"] for each in rows] == [6] * 3
    assert all(each["lag_seconds"] > 0 for each in rows)
    ranges = client.get(f"{address}/deliveries")["ranges"]["items"]
    released = [each for each in ranges if each["state"] == "available"]
    assert {(each["partition"], each["first_offset"], each["last_offset"]) for each in released} == {(each, 4, 9) for each in range(3)}
    assert all(each["deliveries"] >= 1 for each in ranges)
    assert "available" in client.page(f"{address}/deliveries")
    client.page(f"{address}/members")
    plan = client.get(f"{address}/reset", to="earliest")
    assert {each["new"] for each in plan["rows"]} == {0}
    client.post(f"{address}/reset", offsets=plan["offsets"])
    until(lambda: client.get(address)["lag"] == 30, "the group begins again")
    client.post(f"{address}/delete-offsets", topic=topic)
    client.post(f"{address}/delete", confirm_group=group)
    until(lambda: client.http.get(f"/api{address}").status_code == 404, "the group is gone")


def test_a_streams_group_shows_its_topology_and_tasks(client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str) -> None:
    address = f"/clusters/local/groups/{group}"
    with BrokerConnection(broker.bootstrap, {}, seconds_max=30) as connection:
        epoch = connection.ask(streams_heartbeat(group, 0, streams_topology(topic))).member_epoch

        def has_tasks() -> bool:
            nonlocal epoch
            epoch = connection.ask(streams_heartbeat(group, epoch, None)).member_epoch
            (found,) = client.get(f"{address}/members")["page"]["items"]
            return bool(found["active_tasks"])

        until(has_tasks, "the member has tasks", pause_seconds=0.2)
        (found,) = client.get(f"{address}/members")["page"]["items"]
        assert found["active_tasks"] == [{"subtopology": "0", "tasks": [0, 1, 2]}]
        assert found["assignment"] == [{"topic": topic, "partitions": [0, 1, 2]}]
        shown = client.get(address)
        assert (shown["kind"], shown["topology"]) == ("streams", [{"id": "0", "topics": [{"role": "source", "topic": topic}]}])
        assert topic in client.page(address)
        assert "0_1" in client.page(f"{address}/members")
        client.post(f"{address}/remove-member", member_id="streams-member-1")
        assert client.get(f"{address}/members")["page"]["total"] == 0


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_removed_member_joins_again_with_another_id(
    client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str, protocol: str, static: bool
) -> None:
    settings = {"group.protocol": protocol, **({"group.instance.id": "one"} if static else {}), **QUICK[protocol]}
    address = f"/clusters/local/groups/{group}"
    with member(broker.bootstrap, group, topic, **settings) as consumer:
        (before,) = client.get(f"{address}/members")["page"]["items"]
        assert before["instance_id"] == ("one" if static else None)
        done = client.post(f"{address}/remove-member", member_id=before["id"])
        assert done["done"] == f"The member member-of-test has left group {group}."
        gone = client.try_post(f"{address}/remove-member", member_id=before["id"])
        assert (gone.status_code, gone.json()["error"]) == (404, f"Group {group} has no member {before['id']}.")

        def joined_again() -> bool:
            consumer.poll(0.1)
            members = client.get(f"{address}/members")["page"]["items"]
            return len(members) == 1 and bool(members[0]["assignment"])

        until(joined_again, "the client joins again")


def test_offsets_are_reset_as_a_dry_run_first(client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str) -> None:
    hour_ago = int((time.time() - 3600) * 1000)
    produce(broker.bootstrap, topic, 30, timestamp_ms=hour_ago)
    produce(broker.bootstrap, topic, 30, timestamp_ms=hour_ago + 600_000)
    commit(broker.bootstrap, group, {(topic, 0): 5, (topic, 1): 15, (topic, 2): 20})
    commit(broker.bootstrap, f"{group}-other", {(topic, 0): 7, (topic, 2): 9})
    reset = f"/clusters/local/groups/{group}/reset"

    def planned(**target: object) -> list[int]:
        return [each["new"] for each in client.get(reset, **target)["rows"]]

    assert planned(to="earliest") == [0, 0, 0]
    assert planned(to="latest") == [20, 20, 20]
    assert planned(to="time", time=str(hour_ago + 1)) == [10, 10, 10]
    assert planned(to="offset", offset=3, topic=topic, partitions="1-2") == [3, 3]
    assert planned(to="shift", shift=-2) == [3, 13, 18]
    assert planned(to="group", from_group=f"{group}-other") == [7, 9]
    assert planned(to="given", offsets=f"{topic},1,4\n") == [4]
    assert planned(to="given", offsets=f"{topic},1,4\n", partitions="1") == [4]
    without_topic = client.http.get(f"/api{reset}", params={"to": "earliest", "partitions": "1"})
    assert (without_topic.status_code, without_topic.json()["parameter"]) == (400, "topic")
    plan = client.get(reset, to="shift", shift=10)
    assert plan["remarks"] == [
        f"Offset 25 is after the end of partition 1 of topic {topic}, so 20 is used.",
        f"Offset 30 is after the end of partition 2 of topic {topic}, so 20 is used.",
    ]
    assert [each["difference"] for each in plan["rows"]] == [10, 5, 0]
    assert "10 skipped" in client.page(reset, to="shift", shift=10)
    assert _committed(client, group) == [5, 15, 20]
    client.post(reset, offsets=plan["offsets"])
    assert _committed(client, group) == [15, 20, 20]
    outside = client.try_post(reset, offsets=f"{topic},0,99")
    assert (outside.status_code, outside.json()["parameter"]) == (400, "offsets")
    assert client.try_post(reset, offsets="no line").status_code == 400
    new = f"/clusters/local/groups/{group}-new"
    client.post(f"{new}/reset", offsets=client.get(f"{new}/reset", to="group", from_group=group)["offsets"])
    assert _committed(client, f"{group}-new") == [15, 20, 20]


def _committed(client: ConsoleClient, group: str) -> list[int]:
    return [each["committed"] for each in client.get(f"/clusters/local/groups/{group}")["page"]["items"]]


def test_a_group_with_members_keeps_its_offsets(client: ConsoleClient, broker: EmbeddedBroker, topic: str, group: str) -> None:
    produce(broker.bootstrap, topic, 9)
    address = f"/clusters/local/groups/{group}"
    with member(broker.bootstrap, group, topic) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        plan = client.get(f"{address}/reset", to="latest")
        assert plan["problem"] == f"Offsets can be set only while a group has no members, and {group} has 1: stop them first."
        refused = client.try_post(f"{address}/reset", offsets=plan["offsets"])
        assert (refused.status_code, "only they may set its offsets" in refused.json()["error"]) == (400, True)
        subscribed = client.try_post(f"{address}/delete-offsets", topic=topic)
        assert (subscribed.status_code, "are subscribed to topic" in subscribed.json()["error"]) == (400, True)
        kept = client.try_post(f"{address}/delete", confirm_group=group)
        assert (kept.status_code, "so it stays" in kept.json()["error"]) == (400, True)
    client.post(f"{address}/delete-offsets", topic=topic, partition=0)
    none_left = client.try_post(f"{address}/delete-offsets", topic=topic, partition=0)
    assert none_left.status_code == 404
    commit(broker.bootstrap, group, {(topic, 0): 1})
    assert client.try_post(f"{address}/delete", confirm_group="another").status_code == 400
    client.post(f"{address}/delete", confirm_group=group)
    assert client.http.get(f"/api{address}").status_code == 404
