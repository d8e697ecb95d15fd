"""SQL over topics: a page with completion, answers as a table and a chart, and streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final

from barnabas.console.access.catalog import all_topics, topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.offsets import bounds
from barnabas.console.access.record_pages import page_newest
from barnabas.console.access.sql_process import Columns, Ended, Row, Silence, run_query
from barnabas.console.core.chart import Chart, chart_of
from barnabas.console.core.sql_completion import Word, completions, fields_of, named_topics, read_json, typed_word
from barnabas.console.core.sql_output import Column
from barnabas.console.errors import BadValue, Busy, ConsoleError, Forbidden
from barnabas.console.limits import (
    SQL_CHARACTERS_MAX,
    SQL_QUERIES_MAX,
    SQL_SAMPLE_SECONDS,
    SQL_SAMPLED_RECORDS,
    SQL_SAMPLED_TOPICS_MAX,
)
from barnabas.console.web.call import Call
from barnabas.console.web.hosts import is_same_site
from barnabas.console.web.json_values import json_bytes
from barnabas.console.web.operation import Stream, view
from barnabas.console.web.pages import render
from barnabas.console.web.parameters import Parameter

# Rows of a stream that its chart is drawn from, the newest.
CHARTED_ROWS_MAX: Final = 500
_FOREIGN: Final = "The request comes from a page of another site."


@dataclass(frozen=True, slots=True)
class SqlAnswer:
    query: str
    problem: str | None
    """Why there is no answer: of the query, or of the console."""
    columns: list[Column]
    rows: list[list[Any]]
    sentence: str
    is_limited: bool
    chart: Chart | None = field(default=None, metadata={"page_only": True})


@dataclass(frozen=True, slots=True)
class Completion:
    typed: str
    """The word before the cursor, which one of the words may replace."""
    words: list[Word]


async def show_sql(call: Call) -> SqlAnswer:
    query = call.text("query")
    problem = _missing(call)
    if problem is not None or not call.flag("run") or not query.strip():
        return SqlAnswer(query, problem, [], [], "", False)
    if not _is_from_this_site(call):
        if call.as_json:
            raise Forbidden(_FOREIGN)
        # A colleague's link may be on such a page, so the query is shown.
        return SqlAnswer(query, f"{_FOREIGN} Press Run to run the query.", [], [], "", False)
    columns: list[Column] = []
    rows: list[list[Any]] = []
    ended = Ended("", is_failure=False)
    with _counted(call):
        async with aclosing(run_query(call.cluster, query)) as events:
            async for event in events:
                match event:
                    case Columns():
                        columns, rows = event.columns, []
                    case Row():
                        rows.append(event.values)
                    case Silence() if await call.request.is_disconnected():
                        # The query has a slot and a process, which the others wait for.
                        break
                    case Ended():
                        ended = event
    if ended.is_failure:
        if call.as_json:
            raise BadValue(ended.sentence, "query")
        return SqlAnswer(query, ended.sentence, [], [], "", False)
    return SqlAnswer(query, None, columns, rows, ended.sentence, ended.is_limited, _chart(columns, rows))


async def stream_sql(call: Call) -> Stream:
    problem = _missing(call)
    if problem is not None:
        raise Forbidden(problem)
    if not _is_from_this_site(call):
        raise Forbidden(_FOREIGN)
    return Stream(_streamed(call), "text/event-stream")


async def _streamed(call: Call) -> AsyncIterator[bytes]:
    follows = call.flag("follow")
    columns: list[Column] = []
    charted: list[list[Any]] = []
    try:
        with _counted(call):
            events = run_query(call.cluster, call.text("query"), follows=follows, from_beginning=call.flag("from_beginning"))
            async with aclosing(events):
                changed = False
                async for event in events:
                    match event:
                        case Columns():
                            columns, charted = event.columns, []
                            yield _event("columns", {"columns": columns, "head": render("sql/head.html", columns=columns)})
                        case Row():
                            charted = [*charted[-CHARTED_ROWS_MAX + 1 :], event.values] if follows else [*charted, event.values]
                            changed = True
                            yield _event("row", {"row": event.values, "html": _row_html(columns, event.values)})
                        case Silence():
                            # Also shows that the browser is gone.
                            yield _chart_event(columns, charted) if changed else b": waiting\n\n"
                            changed = False
                        case Ended():
                            if changed:
                                yield _chart_event(columns, charted)
                            yield _event("failed" if event.is_failure else "done", {"sentence": event.sentence})
    except ConsoleError as error:
        yield _event("failed", {"sentence": error.sentence})


async def complete_sql(call: Call) -> Completion:
    client, query = call.cluster, call.text("query")
    position = call.optional_number("position")
    before = query if position is None else query[:position]
    topics = [each.name for each in (await all_topics(client)).values()]
    named = named_topics(query, topics)[:SQL_SAMPLED_TOPICS_MAX]
    columns = {each: await _columns_of(client, each) for each in named}
    return Completion(typed_word(before), completions(before, topics, columns))


async def _columns_of(client: ClusterClient, name: str) -> list[str]:
    async def sample() -> list[str]:
        try:
            found = await topic(client, name)
            ends = {each.partition: bound for each, bound in (await bounds(client, [found])).items()}
            page = await page_newest(client, found, ends, SQL_SAMPLED_RECORDS, decoder=client.decoder)
        except ConsoleError:
            return []  # Completion is a help, and not a place for errors.
        return await client.run(lambda: fields_of(_decoded(client, each.value) for each in page.records))

    return await client.kept(f"sql columns of {name}", sample, SQL_SAMPLE_SECONDS)


def _decoded(client: ClusterClient, value: bytes | None) -> Any:
    found, _ = client.schemas.decode(value, None)
    return found.value if found is not None else read_json(value)


def _missing(call: Call) -> str | None:
    if not call.services.settings.sql:
        return "SQL is switched off: the file of the console says sql: false."
    if any(find_spec(name) is None for name in ("duckdb", "pyarrow", "sqlglot")):
        return "SQL needs more packages on the machine of the console: pip install 'barnabas[sql]'."
    return None


def _is_from_this_site(call: Call) -> bool:
    """A query takes a process; a page of another site must not start one."""
    headers = call.request.headers
    return is_same_site(headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host", ""))


@contextmanager
def _counted(call: Call) -> Iterator[None]:
    services = call.services
    if services.queries >= SQL_QUERIES_MAX:
        raise Busy(f"The console runs {SQL_QUERIES_MAX} queries already; stop one, or wait.")
    services.queries += 1
    try:
        yield
    finally:
        services.queries -= 1


def _chart(columns: list[Column], rows: list[list[Any]]) -> Chart | None:
    return chart_of([(each.name, each.type) for each in columns], rows)


def _chart_event(columns: list[Column], rows: list[list[Any]]) -> bytes:
    chart = _chart(columns, rows)
    return _event("chart", {"html": render("sql/chart.html", chart=chart) if chart is not None else ""})


def _row_html(columns: list[Column], values: list[Any]) -> str:
    return render("sql/row.html", columns=columns, values=values)


def _event(name: str, data: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(data) + b"\n\n"


_QUERY: Final = Parameter("query", "A SELECT over topics, or DESCRIBE.", default="", maximum=SQL_CHARACTERS_MAX)

OPERATIONS: Final = (
    view(
        "run_sql",
        "/clusters/{cluster}/sql",
        show_sql,
        summary="The answer to a query over topics.",
        page="sql/show.html",
        parameters=(_QUERY, Parameter("run", "Whether the query is run; the page shows it otherwise.", bool, False)),
    ),
    view(
        "stream_sql",
        "/clusters/{cluster}/sql/stream",
        stream_sql,
        summary="The answer as server-sent events; with follow, it goes on as records arrive. Closing the connection stops the query.",
        parameters=(
            Parameter("query", "A SELECT over topics.", required=True, maximum=SQL_CHARACTERS_MAX),
            Parameter("follow", "Go on answering as records arrive.", bool, False),
            Parameter("from_beginning", "With follow: begin with the records that exist.", bool, False),
        ),
    ),
    view(
        "complete_sql",
        "/clusters/{cluster}/sql/complete",
        complete_sql,
        summary="Words that may follow: topics, columns, functions, words of SQL.",
        parameters=(_QUERY, Parameter("position", "Where the cursor is; the end if empty.", int, minimum=0)),
    ),
)
