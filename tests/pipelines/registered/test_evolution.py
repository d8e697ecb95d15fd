"""Schemas that change, and a registry that is away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.pipelines import Pipeline
from barnabas.pipelines.context import RunContext
from barnabas.pipelines.errors import CannotRun, RunFailed, SchemaChanged
from barnabas.pipelines.schema_changes.acceptance import accept
from tests.pipelines.topics import Topics
from tests.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No process listens at this port of the machine itself.
NOBODY_THERE = "http://127.0.0.1:9"


def record(*fields: tuple[str, Any]) -> str:
    named = [{"name": name, "type": kind, **({"default": None} if isinstance(kind, list) else {})} for name, kind in fields]
    return json.dumps({"type": "record", "name": "Order", "fields": named})


def send(topics: Topics, client: SchemaRegistryClient, topic: str, schema: str, *rows: dict[str, Any]) -> None:
    write = AvroSerializer(client, schema)
    topics.send(topic, [write(row, SerializationContext(topic, MessageField.VALUE)) for row in rows])


def test_a_sink_evolves_as_long_as_the_registry_accepts_it(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str
) -> None:
    source, out = topics.create("in"), topics.create("out")
    topics.send(source, [{"id": 1, "item": "hat"}])
    subject = f"{out}-value"

    def run(sql: str, **format_: Any) -> None:
        (
            Pipeline("shop", bootstrap=topics.bootstrap, registry=registry.url)
            .source("orders", topic=source, schema="id INT, item STRING")
            .step("chosen", sql=sql)
            .sink("out", from_="chosen", topic=out, format={"avro": {"record": "Order", **format_}})
            .run(session=spark, checkpoint=checkpoint, available_now=True)
        )

    run("SELECT id FROM orders")
    topics.send(source, [{"id": 2, "item": "coat"}])
    run("SELECT id, item FROM orders")
    assert client.get_versions(subject) == [1, 2]
    ids = [int.from_bytes((each.value or b"")[1:5], "big") for each in topics.read(out)]
    assert ids == [client.get_version(subject, 1).schema_id, client.get_version(subject, 2).schema_id]

    with pytest.raises(CannotRun, match=rf"refuses the schema for the subject '{subject}': MISSING_UNION_BRANCH: at /fields/0/type"):
        run("SELECT item AS id FROM orders")
    with pytest.raises(CannotRun, match=r"is not registered under .* and 'register' is false: it differs from version 2"):
        run("SELECT id, item, 1 AS more FROM orders", register=False)
    with pytest.raises(CannotRun, match=r"Version 1 of the subject .* does not fit the columns of the sink: it has no field .* 'item'"):
        run("SELECT id, item FROM orders", use=1)
    assert client.get_versions(subject) == [1, 2]


def test_a_source_reads_the_columns_that_it_knows_until_new_ones_are_accepted(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str
) -> None:
    orders, out = topics.create("orders"), topics.create("out")
    pipeline = (
        Pipeline("shop", bootstrap=topics.bootstrap, registry=registry.url)
        .source("orders", topic=orders, format="avro")
        .sink("out", from_="orders", topic=out)
    )

    def run() -> list[Any]:
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
        return topics.values(out)

    send(topics, client, orders, record(("id", "int")), {"id": 1})
    assert run() == [{"id": 1}]
    send(topics, client, orders, record(("id", "int"), ("note", ["null", "string"])), {"id": 2, "note": "n"})
    assert run()[1:] == [{"id": 2}], "the new column is announced and left out"
    ((_, _, changes),) = accept([RunContext(spark, pipeline.declaration(), checkpoint)])
    assert [each.name for each in changes] == ["note"]
    send(topics, client, orders, record(("id", "int")), {"id": 3})
    send(topics, client, orders, record(("id", "int"), ("note", ["null", "string"])), {"id": 4, "note": "n"})
    assert run()[2:] == [{"id": 3, "note": None}, {"id": 4, "note": "n"}]

    client.set_compatibility(f"{orders}-value", "NONE")
    send(topics, client, orders, record(("id", "string")), {"id": "five"})
    with pytest.raises(
        SchemaChanged, match=r"orders-value \(version 3\) changed: 'note' \(string\) is missing, 'id' is string and was int"
    ):
        run()


def test_an_unreachable_registry_fails_the_batch_and_makes_no_dead_letters(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str
) -> None:
    orders, out, bad = topics.create("orders"), topics.create("out"), topics.create("bad")
    schema = record(("id", "int"))
    send(topics, client, orders, schema, {"id": 1}, {"id": 2})

    def run(url: str) -> None:
        (
            Pipeline("shop", bootstrap=topics.bootstrap)
            .source(
                "orders",
                topic=orders,
                format={"avro": {"registry": {"url": url, "retry": "100 ms"}, "schema": schema}},
                dead_letters={"topic": bad},
            )
            .sink("out", from_="orders", topic=out)
            .run(session=spark, checkpoint=checkpoint, available_now=True)
        )

    with pytest.raises(RunFailed, match=f"No registry answers at {NOBODY_THERE}"):
        run(NOBODY_THERE)
    assert topics.read(out) == topics.read(bad) == []
    run(registry.url)
    assert topics.values(out) == [{"id": 1}, {"id": 2}]
    assert topics.read(bad) == []


def test_a_table_of_avro_is_joined_by_its_key(
    spark: SparkSession, topics: Topics, registry: RegistryProcess, client: SchemaRegistryClient, checkpoint: str
) -> None:
    payments, limits, out = topics.create("payments"), topics.create("limits", cleanup_policy="compact"), topics.create("out")
    write = AvroSerializer(client, record(("cents", "long")))
    for key, cents in (("a", 5), ("b", 7), ("a", 50)):
        topics.send_record(limits, key.encode(), write({"cents": cents}, SerializationContext(limits, MessageField.VALUE)))
    topics.send_record(limits, b"b", None)
    topics.send(payments, [{"account": "a", "cents": 60}, {"account": "b", "cents": 60}])
    (
        Pipeline("bank", bootstrap=topics.bootstrap, registry=registry.url)
        .source("payments", topic=payments, schema="account STRING, cents BIGINT")
        .source("limits", table=limits, key="account STRING", format="avro")
        .step("rated", join={"stream": "payments", "table": "limits", "on": "account", "how": "left"})
        .sink("out", from_="rated", topic=out, format="avro", route=f"if(account = 'a', '{out}', '{topics.create('other')}')")
        .run(session=spark, checkpoint=checkpoint, available_now=True)
    )
    read = AvroDeserializer(client)
    written = [*topics.read(out), *topics.read(topics.name("other"))]
    found = [read(each.value, SerializationContext(out, MessageField.VALUE)) for each in written]
    assert found == [{"account": "a", "cents": 60, "limits": {"cents": 50}}, {"account": "b", "cents": 60, "limits": None}]
    assert client.get_versions(f"{topics.name('other')}-value") == [1], "a routed topic has a subject of its own"
