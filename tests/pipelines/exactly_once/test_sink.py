"""The sink on a real Spark: batches that run again, by Spark or because the checkpoint lost the
record that they were done.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.exactly_once.spread import spread_of
from barnabas.pipelines.kept_text import KeptText
from tests.pipelines.topics import Topics
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = [{"account": f"account {number % 7}", "number": number} for number in range(200)]
TOTALS = "SELECT account, count(*) AS rows, sum(number) AS total FROM payments GROUP BY account"


class Copying:
    """A pipeline from a topic with three partitions to one with two, and changes to its
    checkpoint."""

    def __init__(self, spark: SparkSession, topics: Topics, checkpoint: str) -> None:
        self.spark, self.topics, self.checkpoint = spark, topics, checkpoint
        self.source, self.target = topics.create("in", partitions=3), topics.create("out", partitions=2)
        self.folder = Path(checkpoint, "copying", "out")

    def run(self, *steps: dict[str, Any], guarantee: str = "exactly_once", **sink: Any) -> None:
        pipeline = Pipeline("copying", bootstrap=self.topics.bootstrap)
        pipeline.source("payments", topic=self.source, format="json", schema="account STRING, number INT")
        for step in steps:
            pipeline.step("made", **step)
        pipeline.sink("out", from_="made" if steps else "payments", topic=self.target, key="account", guarantee=guarantee, **sink)
        pipeline.run(session=self.spark, checkpoint=self.checkpoint, available_now=True)

    def forget_end(self, batch: int) -> None:
        """As if the driver had died before it recorded that the batch is done."""
        for path in (self.folder / "commits").glob(f"*{batch}*"):
            path.unlink()

    def forget_plan(self, batch: int) -> None:
        for path in (self.folder / "offsets").glob(f"*{batch}*"):
            path.unlink()

    def kept(self) -> Any:
        return json.loads((self.folder / "writers").read_text())

    def numbers(self) -> list[int]:
        return [row["number"] for row in self.topics.values(self.target)]


@pytest.fixture
def copying(spark: SparkSession, topics: Topics, checkpoint: str) -> Copying:
    return Copying(spark, topics, checkpoint)


def test_rows_arrive_once_and_rows_of_a_key_in_order(copying: Copying) -> None:
    copying.topics.send(copying.source, ROWS[:120], key="account")
    copying.run()
    copying.topics.send(copying.source, ROWS[120:], key="account")
    copying.run()
    found: dict[str, list[int]] = {}
    for row in copying.topics.values(copying.target):
        found.setdefault(row["account"], []).append(row["number"])
    assert found == {f"account {each}": list(range(each, 200, 7)) for each in range(7)}
    assert copying.kept()["spread"] == "source partition"
    assert set(copying.kept()["writers"]) <= {f"{copying.source}-{each}" for each in range(3)}


def test_a_finished_batch_that_runs_again_writes_nothing(copying: Copying) -> None:
    copying.topics.send(copying.source, ROWS, key="account")
    copying.run()
    copying.forget_end(0)
    copying.run()
    assert sorted(copying.numbers()) == list(range(200))


def test_the_at_least_once_sink_writes_it_twice(copying: Copying) -> None:
    copying.topics.send(copying.source, ROWS, key="account")
    copying.run(guarantee="at_least_once")
    copying.forget_end(0)
    copying.run(guarantee="at_least_once")
    assert Counter(copying.numbers()) == dict.fromkeys(range(200), 2)


def test_rows_that_one_writer_committed_before_another_failed_are_not_written_again(copying: Copying, tmp_path: Path) -> None:
    """The task of one partition fails once another task has committed its rows."""
    copying.topics.send(copying.source, ROWS, key="account")
    broken = tmp_path / "broken"
    broken.touch()
    bootstrap, target = copying.topics.bootstrap, copying.target

    def fails_while_broken(frame: DataFrame) -> DataFrame:
        return frame.mapInPandas(lambda chunks: failing(chunks, str(broken), bootstrap, target), frame.schema)

    step = {"python": fails_while_broken, "inputs": ["payments"]}
    with pytest.raises(PipelineError, match="broken on purpose"):
        copying.run(step)
    written = copying.numbers()
    broken.unlink()
    copying.run(step)
    assert 0 < len(written) < 200
    assert sorted(copying.numbers()) == list(range(200))


def failing(chunks: Any, broken: str, bootstrap: str, target: str) -> Any:
    import os

    for chunk in chunks:
        if os.path.exists(broken) and "account 3" in set(chunk["account"]):
            await_committed_record(bootstrap, target)
            raise ValueError("broken on purpose")
        yield chunk


def await_committed_record(bootstrap: str, topic: str) -> None:
    """Runs in a worker of Spark, which cannot see what the test knows."""
    from confluent_kafka import Consumer, TopicPartition

    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(topic, partition, 0) for partition in range(2)])
    for _ in range(int(PATIENCE_SECONDS)):
        message = reader.poll(1.0)
        if message is not None and message.error() is None:
            break
    reader.close()


def test_an_aggregation_is_spread_over_writers_by_key(copying: Copying) -> None:
    copying.topics.send(copying.source, ROWS, key="account")
    copying.run({"sql": TOTALS}, mode="update", options={"writers": "3"})
    copying.forget_end(0)
    copying.run({"sql": TOTALS}, mode="update", options={"writers": "5"})
    found = {row["account"]: (row["rows"], row["total"]) for row in copying.topics.values(copying.target)}
    assert len(copying.topics.values(copying.target)) == 7
    assert found == {f"account {each}": (len(range(each, 200, 7)), sum(range(each, 200, 7))) for each in range(7)}
    assert copying.kept() == {"spread": "hash", "writers": 3}


def test_new_partitions_of_the_source_get_writers(copying: Copying) -> None:
    for partition in range(3):
        copying.topics.send(copying.source, ROWS[:50][partition::3], partition=partition)
    copying.run()
    admin = AdminClient({"bootstrap.servers": copying.topics.bootstrap})
    admin.create_partitions([NewPartitions(copying.source, 5)])[copying.source].result(PATIENCE_SECONDS)
    # A producer that has not seen the topic with three partitions.
    with Topics(copying.topics.bootstrap, "after") as after:
        for partition in range(5):
            after.send(copying.source, ROWS[50 + 10 * partition :][:10], partition=partition)
    copying.run()
    assert sorted(copying.numbers()) == list(range(100))
    assert len(copying.kept()["writers"]) == 5


def test_a_partition_that_several_tasks_read_has_several_writers(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    source = topics.create("in", partitions=2)
    topics.send(source, ROWS, partition=1)
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", topics.bootstrap).option("subscribe", source)
    frame = reader.option("startingOffsets", "earliest").option("minPartitions", "4").load()
    spread = spread_of(frame, KeptText(spark, str(tmp_path / "writers")), 2)
    found: list[Any] = []
    query = frame.writeStream.foreachBatch(lambda batch, _: found.append(spread.assign(batch))).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    (assignment,) = found
    assert sorted(assignment.writers) == list(range(len(assignment.details)))
    assert len(assignment.details) >= 4


def test_a_batch_with_a_different_plan_is_refused(copying: Copying) -> None:
    copying.topics.send(copying.source, ROWS[:100], partition=0)
    copying.run()
    copying.forget_end(0)
    copying.forget_plan(0)
    copying.topics.send(copying.source, ROWS[100:], partition=0)
    with pytest.raises(PipelineError, match="the checkpoint was changed"):
        copying.run()
    assert sorted(copying.numbers()) == list(range(100))


def test_a_query_of_another_shape_is_refused(copying: Copying) -> None:
    copying.topics.send(copying.source, ROWS, key="account")
    copying.run()
    with pytest.raises(PipelineError, match="by source partition so far, and after the change of this pipeline it would be by hash"):
        copying.run({"sql": TOTALS}, mode="update")


def test_invalid_options_are_reported_in_a_sentence(copying: Copying) -> None:
    with pytest.raises(PipelineError, match="The options of the writers are wrong"):
        copying.run(options={"compression.typo": "lz4"})
    with pytest.raises(PipelineError, match="'writers' is a number, not 'many'"):
        copying.run(options={"writers": "many"})


def test_a_refusal_of_the_broker_is_reported_in_a_sentence(copying: Copying) -> None:
    copying.topics.send(copying.source, [{"account": "x" * 2_000, "number": 1}])
    with pytest.raises(PipelineError, match=r"larger than message\.max\.bytes allows"):
        copying.run(options={"message.max.bytes": "1000"})
