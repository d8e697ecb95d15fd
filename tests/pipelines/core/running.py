"""Runs a pipeline over the available data, on the session of the tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.running.progress import Progress
from barnabas.pipelines.running.runner import start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_file(path: Path, spark: SparkSession, checkpoint: str, **environment: str) -> list[Progress]:
    reports: list[Progress] = []
    run = start([read_pipeline(str(path), environment)], spark, checkpoint=checkpoint, available_now=True)
    try:
        run.wait([reports.append])
    finally:
        run.stop()
    return reports


def write(folder: Path, text: str, name: str = "pipeline.yaml") -> Path:
    path = folder / name
    path.write_text(dedent(text))
    return path
