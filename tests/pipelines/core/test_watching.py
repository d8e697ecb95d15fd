"""Numbers of a batch, and their display."""

from __future__ import annotations

import io
import json
from typing import Any

from rich.console import Console

from barnabas.pipelines import Pipeline
from barnabas.pipelines.display_text import size
from barnabas.pipelines.running.live_table import LiveTable
from barnabas.pipelines.running.progress import progress_of

REPORT: dict[str, Any] = {
    "runId": "r",
    "batchId": 7,
    "timestamp": "2030-01-01T00:00:00.000Z",
    "numInputRows": 1000,
    "inputRowsPerSecond": float("inf"),
    "processedRowsPerSecond": 2000.25,
    "batchDuration": 500,
    "eventTime": {"watermark": "2030-01-01T00:00:00.000Z"},
    "stateOperators": [{"numRowsTotal": 5, "memoryUsedBytes": 2048}, {"numRowsTotal": 6, "memoryUsedBytes": 1024}],
    "sources": [
        {
            "description": "KafkaV2[Subscribe[payments]]",
            "endOffset": {"payments": {"0": 10, "1": 20}},
            "latestOffset": {"payments": {"0": 15, "1": 20, "2": 3}},
        },
        {"description": "RateStreamV2[rowsPerSecond=1]", "endOffset": 4, "latestOffset": 5},
    ],
    "sink": {"numOutputRows": 250},
}


def test_a_report_of_spark_becomes_the_numbers_that_people_watch() -> None:
    progress = progress_of("alerts", "out", REPORT)
    assert (progress.batch, progress.input_rows, progress.output_rows, progress.batch_ms) == (7, 1000, 250, 500)
    assert progress.lag == {"payments": 8}, "a partition that is new counts whole; a source without offsets has no lag"
    assert (progress.state_rows, progress.state_bytes) == (11, 3072)
    assert json.loads(progress.as_json())["input_rows_per_second"] == 0.0, "JSON has no infinity"


def test_a_sink_that_does_not_count_has_no_output_rows() -> None:
    assert progress_of("p", "q", REPORT | {"sink": {"numOutputRows": -1}}).output_rows is None


def test_the_table_shows_the_newest_numbers() -> None:
    pipeline = Pipeline("alerts").source("t", generator={}).sink("out", from_="t", console={}).sink("more", from_="t", console={})
    screen = io.StringIO()
    with LiveTable([pipeline.declaration()], Console(file=screen, force_terminal=True, width=120)) as table:
        table(progress_of("alerts", "out", REPORT | {"batchId": 6}))
        table(progress_of("alerts", "out", REPORT))
    last = screen.getvalue().splitlines()[-3:]
    assert any("alerts.out" in line and " 7 " in line and "0.50 s" in line and " 8 " in line and "3 KiB" in line for line in last)
    assert any("alerts.more" in line and "starting" in line for line in last)


def test_sizes_are_shown_in_fitting_units() -> None:
    assert [size(each) for each in (0, 1023, 2048, 5 << 20, 3 << 30)] == ["0 B", "1023 B", "2 KiB", "5 MiB", "3.0 GiB"]
