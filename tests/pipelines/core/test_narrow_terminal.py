"""The tables of pipelines and of the mirror in a terminal of 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

from barnabas.pipelines.running.heartbeat import Heartbeat, this_process
from tests.pipelines.core.running import write
from tests.pipelines.narrow_terminal import lines_at_80_columns

LIVE = """
from barnabas.pipelines import Pipeline
from barnabas.pipelines.running.live_table import LiveTable
from barnabas.pipelines.running.progress import Progress

name, sink = "campaign-compare-of-the-north-west", "alerts_about_large_payments"
pipeline = Pipeline(name).source("t", generator={}).sink(sink, from_="t", console={}).sink("other", from_="t", console={})
lag = {f"payments.of.the.north.west.by.country.and.currency.v{n}": 10**n for n in range(9)}
with LiveTable([pipeline.declaration()]) as table:
    table(
        Progress(
            pipeline=name, query=sink, run="r", batch=1234567, at="2030-01-01T00:00:00.123456Z", input_rows=10**9,
            output_rows=10**9, input_rows_per_second=98765432.1, processed_rows_per_second=1.0, batch_ms=87654, lag=lag,
            state_rows=123456789, state_bytes=987 << 20, watermark=None,
        )
    )
"""
MIRROR = """
from barnabas.cli.mirror.view import watching
from barnabas.pipelines.mirror.report import MirrorReport

lag = {"payments." + "x" * 230 + f".v{n}": 10**n for n in range(13)}
with watching(True, "mirror-the-north-west-of-the-continent-the-south-east-of-the-other-continent-and-more") as show:
    show(MirrorReport("2030-01-01T00:00:00Z", 1, 10, 10**12, 10**9, 123456.7, lag, groups=2))
"""


def test_the_live_table_of_a_run_fits(tmp_path: Path) -> None:
    lines = lines_at_80_columns(["-c", LIVE], tmp_path)
    row = next(line for line in reversed(lines) if "1234567" in line)
    assert row.split()[0].startswith("campaign-")
    assert row.split()[0].endswith("payments")
    assert row.split()[1:] == ["1234567", "98.8", "M", "11.4", "M", "87.7", "s", "111.1", "M", "123.5", "M", "987", "MiB"]
    assert any("starting" in line for line in lines), "the query without a report has a line too"
    assert any(line.split() == ["Query", "Batch", "rows/s", "rows/s", "time", "records", "rows", "size"] for line in lines)
    text = " ".join(lines[-8:])
    assert "currency.v8 100.0 M" in text, "topics behind the lag are below the table"
    assert "5 more 11,111" in text


def test_the_table_of_a_mirror_fits(tmp_path: Path) -> None:
    lines = lines_at_80_columns(["-c", MIRROR], tmp_path)
    assert any(line.startswith("payments.xxx") and line.endswith("xxx.v12  1,000,000,000,000") for line in lines)
    text = " ".join(lines)
    assert "1,000,000,000,000 records copied, 123.5 k records/s, 2 groups" in text
    assert "left out because they came from the target" in text


def test_the_status_of_a_long_name_fits_and_has_no_fractions_of_seconds(tmp_path: Path) -> None:
    name = "campaign-compare-of-the-north-west"
    text = """\
        name: {name}
        checkpoint: {folder}/checkpoints
        sources: {{t: {{generator: {{}}}}}}
        sinks: {{alerts_about_large_payments: {{from: t, console: {{}}}}, short: {{from: t, console: {{}}}}}}
        """
    file = write(tmp_path, dedent(text).format(name=name, folder=tmp_path))
    beat = Heartbeat("failed", "2030-01-01T00:00:00.123456+00:00", "the reason " * 20, this_process())
    kept = tmp_path / "checkpoints" / name / "-kept" / "heartbeat"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps(json.loads(beat.as_json())))
    lines = lines_at_80_columns(["-m", "barnabas", "pipelines", "status", str(file)], tmp_path)
    row = next(line for line in lines if "payments" in line)
    assert row.startswith("campaign-c")
    assert row.split()[1] == "failed"
    assert " ".join(" ".join(lines).split()).count("the reason") == 20, "the reason is whole, and there once"
    assert ".123456" not in "".join(lines)
