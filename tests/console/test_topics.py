from __future__ import annotations

from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient


def test_a_topic_is_created_listed_and_shown(client: ConsoleClient, new_name: str) -> None:
    done = client.post("/clusters/local/topics", name=new_name, partitions=2, configs="cleanup.policy=compact\nretention.ms=1000")
    assert done == {"done": f"Topic {new_name} is created.", "location": f"/clusters/local/topics/{new_name}"}
    listed = client.get("/clusters/local/topics", search=new_name[6:])["page"]
    assert [(each["name"], each["partitions"]) for each in listed["items"]] == [(new_name, 2)]
    shown = client.get(f"/clusters/local/topics/{new_name}")
    assert [each["id"] for each in shown["partitions"]] == [0, 1]
    assert new_name in client.page("/clusters/local/topics", search=new_name)
    assert shown["topic_id"] in client.page(f"/clusters/local/topics/{new_name}")


def test_a_topic_that_cannot_be_created_is_refused_with_the_brokers_reason(client: ConsoleClient, topic: str) -> None:
    taken = client.try_post("/clusters/local/topics", name=topic)
    assert taken.status_code == 400
    assert taken.json()["error"].startswith(f"Cannot create topic {topic}: ")
    invalid = client.try_post("/clusters/local/topics", name="a/b")
    assert invalid.status_code == 400
    setting = client.try_post("/clusters/local/topics", name="valid-name", configs="no.such.setting=1")
    assert setting.status_code == 400
    assert "no.such.setting" in setting.json()["error"]


def test_sizes_and_offsets_are_those_of_the_records(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(30):
        producer.produce(topic, b"v" * 100, partition=number % 3)
    producer.flush()
    shown = client.get(f"/clusters/local/topics/{topic}")
    assert shown["records_max"] == 30
    assert shown["size_bytes"] > 3_000
    assert [(each["start_offset"], each["end_offset"]) for each in shown["partitions"]] == [(0, 10)] * 3
    row = client.get("/clusters/local/topics", search=topic)["page"]["items"][0]
    assert (row["records_max"], row["size_bytes"]) == (30, shown["size_bytes"])


def test_a_topic_grows_is_emptied_cloned_and_deleted(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"v", partition=1)
    producer.flush()
    client.post(f"/clusters/local/topics/{topic}/grow", partitions=5)
    client.post(f"/clusters/local/topics/{topic}/empty", confirm_topic=topic)
    shown = client.get(f"/clusters/local/topics/{topic}")
    assert [(each["start_offset"], each["end_offset"]) for each in shown["partitions"]] == [(0, 0), (1, 1), (0, 0), (0, 0), (0, 0)]
    client.post(f"/clusters/local/topics/{topic}/clone", name=f"{topic}-copy")
    assert len(client.get(f"/clusters/local/topics/{topic}-copy")["partitions"]) == 5
    unconfirmed = client.try_post(f"/clusters/local/topics/{topic}/delete", confirm_topic="other")
    assert unconfirmed.status_code == 400
    client.post(f"/clusters/local/topics/{topic}/delete", confirm_topic=topic)
    assert client.http.get(f"/api/clusters/local/topics/{topic}").status_code == 404


def test_lists_have_pages_and_an_order(client: ConsoleClient, new_name: str) -> None:
    for number in range(5):
        client.post("/clusters/local/topics", name=f"{new_name}-{number}", partitions=number + 1)
    first = client.get("/clusters/local/topics", search=new_name, size=2)["page"]
    assert (first["total"], first["pages"], [each["name"][-1] for each in first["items"]]) == (5, 3, ["0", "1"])
    last = client.get("/clusters/local/topics", search=new_name, size=2, page=99)["page"]
    assert (last["number"], [each["name"][-1] for each in last["items"]]) == (3, ["4"])
    largest = client.get("/clusters/local/topics", search=new_name, sort="-partitions", size=1)["page"]
    assert largest["items"][0]["partitions"] == 5
    assert 'rel="next"' in client.page("/clusters/local/topics", search=new_name, size=2)


def test_topics_are_ordered_by_any_column_on_every_page(client: ConsoleClient, new_name: str) -> None:
    for number, partitions in enumerate((2, 1, 3)):
        client.post("/clusters/local/topics", name=f"{new_name}-{number}", partitions=partitions)
        for _ in range(number):
            client.post(f"/clusters/local/topics/{new_name}-{number}/records", value="x" * 10, partition=0)

    def names(sort: str, **query: object) -> list[str]:
        page = client.get("/clusters/local/topics", search=new_name, sort=sort, **query)["page"]
        return [each["name"].removeprefix(f"{new_name}-") for each in page["items"]]

    assert names("-name") == ["2", "1", "0"]
    assert names("partitions") == ["1", "0", "2"]
    assert names("-records") == names("-bytes") == ["2", "1", "0"]
    assert names("-records", size=1, page=2) == ["1"]
    assert names("state") == ["0", "1", "2"]
    page = client.page("/clusters/local/topics", search=new_name, sort="-records", size=1)
    assert 'aria-sort="descending"' in page
    assert "sort=-records" in page.split('rel="next"')[0].rpartition("<a ")[2]
    assert client.http.get("/api/clusters/local/topics", params={"sort": "colour"}).status_code == 400


def test_a_topic_that_a_mirror_copies_names_its_source(client: ConsoleClient, broker: EmbeddedBroker, new_name: str) -> None:
    # "barnabas mirror" and MirrorMaker give these names.
    broker.create_topic(f"{new_name}.orders")
    broker.create_topic(f"{new_name}.checkpoints.internal")
    users = f"/clusters/local/topics/{new_name}.orders/users"
    assert client.get(users)["mirrored_from"] == new_name
    assert f"<strong>{new_name}</strong>" in client.page(users)
    broker.create_topic(f"other-{new_name}.orders")
    assert client.get(f"/clusters/local/topics/other-{new_name}.orders/users")["mirrored_from"] is None


def test_the_notice_of_a_change_is_not_spent_on_a_part_that_loads_by_itself(client: ConsoleClient, new_name: str) -> None:
    form = {"name": new_name, "partitions": "1", "csrf_token": client.token}
    assert client.http.post("/clusters/local/topics", data=form).status_code == 303
    notice = f"Topic {new_name} is created."
    assert notice not in client.http.get("/clusters/local/reassignment", headers={"HX-Request": "true"}).text
    assert notice in client.page("/clusters/local/topics")
    assert notice not in client.page("/clusters/local/topics")
