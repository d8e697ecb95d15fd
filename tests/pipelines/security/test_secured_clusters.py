"""Pipelines, mirrors and SQL over clusters that ask for a login or a certificate.

All of them get one file with Java's names, which must serve librdkafka in our processes and Java's
clients in Spark.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.cli.cluster.reach import reach
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark, read_settings
from barnabas.pipelines.mirror.cluster import MirrorCluster
from barnabas.pipelines.mirror.mirror import Mirror, MirrorOptions
from barnabas.pipelines.mirror.selection import Policy, TopicSelection
from barnabas.pipelines.sql.topic_query import TopicQuery
from tests.cli.security.secured import MARK, Secured, mutual_tls, scram_over_tls
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = """
name: secured
sources:
  orders: {topic: orders, format: json, schema: "amount INT"}
sinks:
  once: {from: orders, topic: once, guarantee: exactly_once}
  often: {from: orders, topic: often, guarantee: at_least_once}
spark:
  spark.eventLog.enabled: true
  spark.eventLog.dir: events
"""


@pytest.fixture(scope="module")
def scram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with scram_over_tls(tmp_path_factory.mktemp("scram"), process=True) as made:
        yield made


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with mutual_tls(tmp_path_factory.mktemp("mutual"), process=True) as made:
        yield made


def send(secured: Secured, topic: str, amounts: list[int]) -> None:
    config = for_librdkafka(secured.bootstrap, read_settings(str(secured.client_file)))
    with AdminClient(config) as admin:
        (created,) = admin.create_topics([NewTopic(topic, 1)]).values()
        created.result(PATIENCE_SECONDS)
    producer = Producer(config)
    for each in amounts:
        producer.produce(topic, json.dumps({"amount": each}).encode())
    assert producer.flush(PATIENCE_SECONDS) == 0


def read(secured: Secured, topic: str, count: int) -> list[int]:
    config = for_librdkafka(secured.bootstrap, read_settings(str(secured.client_file)))
    consumer = Consumer({**config, "group.id": "readers", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []
    while len(found) < count:
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None, f"{topic} has {found}"
        found.append(json.loads(message.value() or b"")["amount"])
    consumer.close()
    return found


def test_a_pipeline_reads_and_writes_with_a_password_and_leaves_it_nowhere(scram: Secured, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    send(scram, "orders", [1, 2, 3])
    (tmp_path / "pipeline.yaml").write_text(dedent(PIPELINE))
    (tmp_path / "events").mkdir()

    def barnabas(*words: str) -> str:
        command = [sys.executable, "-m", "barnabas", "pipelines", *words, "pipeline.yaml", "--command-config", str(scram.client_file)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    said = barnabas("run", "--available-now", "--master", "local[2]")
    assert sorted(read(scram, "once", 3)) == [1, 2, 3]
    assert sorted(read(scram, "often", 3)) == [1, 2, 3]
    said += barnabas("validate") + barnabas("status")
    assert MARK not in said
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert any(each.parent.name.startswith(("events", "eventlog")) for each in files)
    assert [each for each in files if MARK.encode() in each.read_bytes()] == []


def test_a_mirror_has_a_file_for_each_of_its_clusters(scram: Secured, mutual: Secured, spark: SparkSession, checkpoint: str) -> None:
    send(scram, "mirrored", [4, 5])
    clusters = [reach(None, each.client_file) for each in (scram, mutual)]
    source, target = (MirrorCluster(name, each.bootstrap, each.properties) for name, each in zip("AB", clusters, strict=True))
    selection = TopicSelection(["mirrored"], Policy.RENAME, "A", "B", ())
    Mirror(spark, MirrorOptions(source, target, selection, checkpoint, groups=[], once=True)).run()
    assert read(mutual, "A.mirrored", 2) == [4, 5]


def test_sql_on_spark_reads_a_secured_topic(mutual: Secured, spark: SparkSession) -> None:
    send(mutual, "payments", [6, 7])
    cluster = reach(None, mutual.client_file)
    query = TopicQuery(
        spark,
        spark_options=for_spark(cluster.bootstrap, cluster.properties),
        client_config=for_librdkafka(cluster.bootstrap, cluster.properties),
    )
    (row,) = query.batch("SELECT sum(amount) AS total FROM payments", sample=10).collect()
    assert row["total"] == 13
