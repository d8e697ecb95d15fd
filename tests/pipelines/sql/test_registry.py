"""Topics whose schemas a registry has: both engines decode them, and give the same answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark
from barnabas.pipelines.sql.answering import EngineChoice, TopicSql
from barnabas.pipelines.sql.shapes import TopicShapes
from barnabas.pipelines.sql.topic_query import TopicQuery
from barnabas.registry_client import RegistrySettings
from tests.pipelines.topics import Topics
from tests.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)
FIRST = {"type": "record", "name": "Payment", "fields": [{"name": "account", "type": "string"}, {"name": "cents", "type": "long"}]}
SECOND = {
    **FIRST,
    "fields": [
        *FIRST["fields"],
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "share", "type": "float", "default": 0},
    ],
}


@pytest.fixture
def sql(spark: SparkSession, topics: Topics, registry: RegistryProcess) -> Iterator[TopicSql]:
    shapes = TopicShapes(RegistrySettings.of_url(registry.url))
    client = for_librdkafka(topics.bootstrap, {})
    query = TopicQuery(spark, spark_options=for_spark(topics.bootstrap, {}), client_config=client, shapes=shapes)
    made = TopicSql(client, lambda: query, engine=EngineChoice.AUTO, sample=100, shapes=shapes)
    yield made
    made.close()


def test_both_engines_decode_topics_by_their_schemas(sql: TopicSql, topics: Topics, client: SchemaRegistryClient) -> None:
    payments, orders, plain = topics.create("payments", partitions=2), topics.create("orders"), topics.create("plain")
    here = SerializationContext(payments, MessageField.VALUE)
    old, new = AvroSerializer(client, json.dumps(FIRST)), AvroSerializer(client, json.dumps(SECOND))
    full = {"account": "b", "cents": 2, "at": NOON, "price": Decimal("1.25"), "tags": ["x"], "share": 0.5}
    for value in (old({"account": "a", "cents": 1}, here), new(full, here), None, b"not framed"):
        topics.send_record(payments, b"k", value)
    headers: list[Any] = []
    by_header = AvroSerializer(client, json.dumps(SECOND), conf={"schema.id.serializer": header_schema_id_serializer})
    value = by_header({**full, "cents": 3}, SerializationContext(payments, MessageField.VALUE, headers))
    topics.send_record(payments, b"k", value, dict(headers))
    schema = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}, "by": {"type": "string"}}}
    write = JSONSerializer(json.dumps(schema), client)
    topics.send(orders, [write({"id": 7, "by": "b"}, SerializationContext(orders, MessageField.VALUE))])
    topics.send(plain, [{"id": 9}])

    answers = {
        f"SELECT account, sum(cents), max(at), max(price), count(*) FROM `{payments}` GROUP BY account ORDER BY account": [
            (None, None, None, None, 2),
            ("a", 1, None, None, 1),
            ("b", 5, NOON.replace(tzinfo=None), Decimal("1.25"), 2),
        ],
        f"SELECT id, cents FROM `{orders}` JOIN `{payments}` ON by = account ORDER BY cents": [(7, 2), (7, 3)],
        f"SELECT id FROM `{plain}`": [(9,)],
    }
    for engine in (EngineChoice.EMBEDDED, EngineChoice.SPARK):
        sql.engine = engine
        for query, rows in answers.items():
            found = sql.answer(query, None)
            assert found.engine is engine
            assert [tuple(row) for row in found.rows] == rows, (engine, query)

    sql.engine = EngineChoice.AUTO
    described = {row[0]: row[1] for row in sql.answer(f"DESCRIBE `{payments}`", None).rows}
    assert {name: kind for name, kind in described.items() if not name.startswith("_")} == {
        "account": "string",
        "cents": "bigint",
        "at": "timestamp",
        "price": "decimal(9,2)",
        "tags": "array<string>",
        "share": "float",
    }
    recent = sql.answer(f"SELECT share FROM `{payments}` WHERE cents = 2 AND _timestamp > now() - INTERVAL 1 DAY", None)
    assert recent.engine is EngineChoice.SPARK
    assert "the column share of type float" in recent.reason
    assert [tuple(row) for row in recent.rows] == [(0.5,)]


def test_an_unreachable_registry_is_reported(topics: Topics) -> None:
    name = topics.create("payments")
    topics.send(name, [b"\0\0\0\0\1x"])
    shapes = TopicShapes(RegistrySettings.of_url("http://127.0.0.1:9"))
    sql = TopicSql(for_librdkafka(topics.bootstrap, {}), lambda: None, engine=EngineChoice.EMBEDDED, sample=100, shapes=shapes)  # type: ignore[arg-type, return-value]
    try:
        with pytest.raises(CannotRun, match="No registry answers at"):
            sql.answer(f"SELECT * FROM `{name}`", None)
    finally:
        sql.close()
