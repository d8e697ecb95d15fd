"""Pipelines: those that report to this cluster, and those of a directory of files."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from barnabas.console.access.pipeline_runs import PipelineRun, pipeline_files, validate
from barnabas.console.access.pipeline_topic import pipeline_reading
from barnabas.console.core.chart import Chart, chart_of
from barnabas.console.core.flow_picture import BOX_HEIGHT, BOX_WIDTH, Picture, picture_of
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.core.pipeline_file import PipelineFile
from barnabas.console.core.pipeline_report import Batch, Flow, QueryState, state_of_all
from barnabas.console.errors import BadValue, Forbidden, NotFound
from barnabas.console.settings import ClusterSettings
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, Operation, change, view

# Three charts stand side by side on a page.
CHART_WIDTH: Final = 400


@dataclass(frozen=True, slots=True)
class PipelineRow:
    name: str
    state: str
    """running, silent, ended, failed, or never reported"""
    queries: int
    rows_per_second: float | None
    lag: int | None
    state_bytes: int | None
    at_ms: int | None
    """Of the last report."""
    reason: str | None
    file: str | None


@dataclass(frozen=True, slots=True)
class PipelineList:
    search: str
    page: Page[PipelineRow]
    is_complete: bool
    """Whether all reports are read; the next request reads on."""
    directory: str | None


@dataclass(frozen=True, slots=True)
class RunView:
    """A process of this console."""

    pid: int
    is_running: bool
    exit_code: int | None
    started_ms: int
    lines: list[str]
    """The last lines that it wrote."""


@dataclass(frozen=True, slots=True)
class QueryCharts:
    query: str
    charts: list[Chart]


@dataclass(frozen=True, slots=True)
class PipelineView:
    name: str
    state: str
    queries: list[QueryState]
    flow: Flow | None
    history: dict[str, list[Batch]]
    file: str | None
    file_problem: str | None
    may_start: bool
    """Whether this console may run the file."""
    run: RunView | None
    picture: Picture | None = field(default=None, metadata={"page_only": True})
    charts: list[QueryCharts] = field(default_factory=list, metadata={"page_only": True})
    box: tuple[int, int] = field(default=(BOX_WIDTH, BOX_HEIGHT), metadata={"page_only": True})


async def list_pipelines(call: Call) -> PipelineList:
    reading, files = await asyncio.gather(pipeline_reading(call.cluster), _files(call))
    now_ms = int(time.time() * 1000)
    by_name = {each.pipeline: each for each in files}
    names = sorted({*reading.reports.names(), *by_name})
    page = page_of(matching(names, call.text("search"), str), call.number("page"), call.number("size"))
    rows = [_row(each, reading.reports.queries(each, now_ms), by_name.get(each)) for each in page.items]
    listed = Page(rows, page.number, page.pages, page.size, page.total)
    return PipelineList(call.text("search"), listed, reading.is_complete, _settings(call).pipelines)


def _row(name: str, queries: list[QueryState], file: PipelineFile | None) -> PipelineRow:
    batches = [each.last for each in queries if each.last is not None and each.state == "running"]
    lags = [each.lag_total for each in batches if each.lag_total is not None]
    return PipelineRow(
        name,
        state_of_all(queries) if queries else "never reported",
        len(queries),
        sum(each.processed_rows_per_second for each in batches) if batches else None,
        max(lags) if lags else None,
        sum(each.state_bytes for each in batches) if batches else None,
        max((each.at_ms for each in queries), default=None),
        next((each.reason for each in queries if each.reason is not None), None),
        file.file if file is not None else None,
    )


async def show_pipeline(call: Call) -> PipelineView:
    name = call.text("pipeline")
    reading, files = await asyncio.gather(pipeline_reading(call.cluster), _files(call))
    queries = reading.reports.queries(name, int(time.time() * 1000))
    file = next((each for each in files if each.pipeline == name), None)
    reported = reading.reports.flow(name)
    if not queries and reported is None and file is None:
        raise NotFound(f"No pipeline {name} reports to this cluster, and no file has one.")
    # The flow that runs, rather than the one that a changed file would run.
    flow = reported or (file.flow if file is not None else None)
    history = {each.name: reading.reports.history(name, each.name) for each in queries}
    run = call.services.pipeline_runs.find(call.cluster_name, file.file) if file is not None else None
    return PipelineView(
        name,
        state_of_all(queries) if queries else "never reported",
        queries,
        flow,
        history,
        file.file if file is not None else None,
        file.problem if file is not None else None,
        file is not None and _settings(call).pipelines_start,
        _run_view(run) if run is not None else None,
        picture_of(flow) if flow is not None else None,
        [QueryCharts(query, _charts(batches)) for query, batches in history.items()],
    )


def _charts(batches: list[Batch]) -> list[Chart]:
    """Rates, lag and batch times over time, where there is something to draw."""
    parts: list[tuple[str, list[Any]]] = [
        ("rows in a second", [each.processed_rows_per_second for each in batches]),
        ("lag in records", [each.lag_total for each in batches]),
        ("batch in ms", [each.batch_ms for each in batches]),
    ]
    # A query may finish several batches in a second.
    times = [datetime.fromtimestamp(max(each.at_ms, 0) / 1000, UTC).isoformat(timespec="milliseconds") for each in batches]
    made = [
        chart_of([("time", "timestamp"), (name, "double")], list(zip(times, values, strict=True)), width=CHART_WIDTH)
        for name, values in parts
        if any(each is not None for each in values)
    ]
    return [each for each in made if each is not None]


def _run_view(run: PipelineRun) -> RunView:
    return RunView(run.process.pid, run.is_running, run.process.returncode, int(run.started * 1000), list(run.lines))


async def validate_pipeline(call: Call) -> Changed:
    """A file in Python is run to be checked, so it needs the permission to start it."""
    file, settings = await _file(call), _settings(call)
    if file.file.endswith(".py"):
        _may_start(settings)
    assert settings.pipelines is not None
    is_valid, sentences = await validate(settings.pipelines, file.file, settings.bootstrap)
    if not is_valid:
        raise BadValue(sentences or f"{file.file} is not valid.")
    return Changed(sentences or f"{file.file} is valid.", call.url("pipelines", file.pipeline))


async def start_pipeline(call: Call) -> Changed:
    file, settings = await _file(call), _settings(call)
    _may_start(settings)
    assert settings.pipelines is not None
    reading = await pipeline_reading(call.cluster)
    if state_of_all(reading.reports.queries(file.pipeline, int(time.time() * 1000))) == "running":
        raise BadValue(f"Pipeline {file.pipeline} runs already: it reported within the last minute.")
    await call.services.pipeline_runs.start(call.cluster_name, settings.pipelines, file.file, settings.bootstrap)
    return Changed(f"Pipeline {file.pipeline} starts; its first report comes with its first batch.", call.url("pipelines", file.pipeline))


async def stop_pipeline(call: Call) -> Changed:
    file = await _file(call)
    _may_start(_settings(call))
    await call.services.pipeline_runs.stop(call.cluster_name, file.file)
    return Changed(f"Pipeline {file.pipeline} is stopped.", call.url("pipelines", file.pipeline))


def _settings(call: Call) -> ClusterSettings:
    return call.services.cluster_settings(call.cluster_name)


def _may_start(settings: ClusterSettings) -> None:
    if not settings.pipelines_start:
        raise Forbidden("This console does not start pipelines: set pipelines_start: true for the cluster.")


async def _files(call: Call) -> list[PipelineFile]:
    directory = _settings(call).pipelines
    return await call.cluster.run(pipeline_files, directory) if directory is not None else []


async def _file(call: Call) -> PipelineFile:
    """Only a file of the directory: the parameter is the name of a pipeline, and no path."""
    name = call.text("pipeline")
    found = next((each for each in await _files(call) if each.pipeline == name), None)
    if found is None:
        raise NotFound(f"The directory of pipelines has no file of {name}.")
    return found


_PATH: Final = "/clusters/{cluster}/pipelines/{pipeline}"

OPERATIONS: Final = (
    view(
        "list_pipelines",
        "/clusters/{cluster}/pipelines",
        list_pipelines,
        summary="Pipelines that report to this cluster, and those of the directory of files.",
        page="pipelines/list.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    view(
        "show_pipeline",
        _PATH,
        show_pipeline,
        summary="A pipeline: its flow, and rates, lag, batch times, state and last error of its queries.",
        page="pipelines/show.html",
    ),
    Operation("validate_pipeline", "POST", f"{_PATH}/validate", validate_pipeline, "Check the file of a pipeline. Changes nothing."),
    change("start_pipeline", f"{_PATH}/start", start_pipeline, summary="Run the file of a pipeline on the machine of the console."),
    change("stop_pipeline", f"{_PATH}/stop", stop_pipeline, summary="Stop a pipeline that this console runs."),
)
