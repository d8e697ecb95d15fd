"""Checkpoints on Hadoop's file systems, of which ``file:`` exists on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.kept_text import KeptText, has_scheme, local_path
from barnabas.pipelines.running.status import status_of
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_text_is_kept_and_replaced(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    kept = KeptText(spark, f"{scheme}{tmp_path}/below/text")
    assert kept.read() is None
    for text in ("first", "zweiter, größer"):
        kept.write(text)
        assert kept.read() == text
    assert (tmp_path / "below" / "text").read_text("utf-8") == "zweiter, größer"
    assert [each.name for each in (tmp_path / "below").iterdir() if not each.name.startswith(".")] == ["text"]


@pytest.mark.parametrize(
    ("path", "scheme", "local"),
    [
        (".barnabas/checkpoints", False, ".barnabas/checkpoints"),
        ("/var/checkpoints", False, "/var/checkpoints"),
        ("file:/var/checkpoints", True, "/var/checkpoints"),
        ("file:///var/checkpoints", True, "/var/checkpoints"),
        ("file://localhost/var", True, "/var"),
        ("s3a://bucket/checkpoints", True, None),
        ("hdfs://name:8020/x", True, None),
    ],
)
def test_local_paths_are_recognised(path: str, scheme: bool, local: str | None) -> None:
    assert (has_scheme(path), local_path(path)) == (scheme, local)


def test_a_pipeline_continues_from_a_checkpoint_with_a_scheme(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    numbers, out = topics.create("numbers", partitions=2), topics.create("out")
    pipeline = (
        Pipeline("p", bootstrap=topics.bootstrap)
        .source("s", topic=numbers)
        .sink("out", from_="s", topic=out, key="n", guarantee="exactly_once")
    )
    for number in range(2):
        topics.send(numbers, [{"n": number}], partition=number)
        pipeline.run(session=spark, checkpoint=f"file://{tmp_path}/checkpoints", available_now=True)
        assert sorted(each["n"] for each in topics.values(out)) == list(range(number + 1))
    (status,) = status_of(pipeline.declaration(), f"file://{tmp_path}/checkpoints")
    assert (status.batch, status.lag) == (1, 0)


def test_a_generator_of_batches_makes_one_batch_with_available_now(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    out = topics.create("out")
    pipeline = (
        Pipeline("p", bootstrap=topics.bootstrap)
        .source("s", generator={"rows_per_batch": 3}, columns={"n": "value"})
        .sink("out", from_="s", topic=out, guarantee="at_least_once")
    )
    for runs in (1, 2):
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
        assert sorted(each["n"] for each in topics.values(out)) == list(range(3 * runs))
