from __future__ import annotations

import json
from typing import Any

from barnabas.console.core.pipeline_report import HISTORY_MAX, PIPELINES_MAX, FlowNode, PipelineReports, state_of_all


def _progress(batch: int = 0, **fields: Any) -> bytes:
    made = {"event": "progress", "pipeline": "alerts", "query": "out", "batch": batch, "lag": {"payments": 3}, **fields}
    return json.dumps(made).encode()


def test_a_query_runs_until_it_is_silent() -> None:
    reports = PipelineReports()
    reports.add(b"alerts.out", _progress(7, input_rows=5, processed_rows_per_second=2.5, state_bytes=10), 1_000)
    (running,) = reports.queries("alerts", 2_000)
    assert (running.state, running.last and running.last.number, running.last and running.last.lag_total) == ("running", 7, 3)
    assert reports.queries("alerts", 62_000)[0].state == "silent"
    assert reports.names() == ["alerts"]


def test_a_pipeline_with_an_interval_is_silent_later() -> None:
    reports = PipelineReports()
    reports.add(b"alerts.-flow", json.dumps({"event": "flow", "pipeline": "alerts", "interval_ms": 3_600_000}).encode(), 0)
    reports.add(b"alerts.out", _progress(), 0)
    assert [reports.queries("alerts", now_ms)[0].state for now_ms in (3_600_000, 3_660_001)] == ["running", "silent"]


def test_an_end_has_a_reason_if_it_is_a_failure_and_a_new_run_takes_it_back() -> None:
    reports = PipelineReports()
    end = {"event": "ended", "pipeline": "alerts", "query": "out", "reason": "The topic is gone."}
    reports.add(b"alerts.out", json.dumps(end).encode(), 1_000)
    (failed,) = reports.queries("alerts", 99_000_000)
    assert (failed.state, failed.reason, failed.last) == ("failed", "The topic is gone.", None)
    reports.add(b"alerts.out", json.dumps({**end, "reason": None}).encode(), 2_000)
    assert reports.queries("alerts", 3_000)[0].state == "ended"
    reports.add(b"alerts.out", _progress(), 4_000)
    assert (reports.queries("alerts", 5_000)[0].state, reports.queries("alerts", 5_000)[0].reason) == ("running", None)


def test_the_worst_query_gives_the_state_of_a_pipeline() -> None:
    reports = PipelineReports()
    reports.add(b"alerts.out", _progress(), 1_000)
    reports.add(b"alerts.other", _progress(query="other"), 100_000)
    assert state_of_all(reports.queries("alerts", 100_001)) == "silent"
    assert state_of_all([]) == "unknown"


def test_a_flow_has_its_own_record() -> None:
    flow = {
        "event": "flow",
        "pipeline": "alerts",
        "sources": [{"name": "payments", "kind": "topic", "places": ["payments"], "dead_letters": "payments.bad"}],
        "steps": [{"name": "large", "kind": "sql", "inputs": ["payments"]}],
        "sinks": [{"name": "out", "kind": "topic", "inputs": ["large"], "places": ["alerts"]}],
    }
    reports = PipelineReports()
    reports.add(b"alerts.-flow", json.dumps(flow).encode(), 0)
    found = reports.flow("alerts")
    assert found is not None
    assert [(each.name, each.role, each.inputs) for each in found.nodes] == [
        ("payments", "source", []),
        ("large", "step", ["payments"]),
        ("out", "sink", ["large"]),
    ]
    uses = {
        topic: [(each.pipeline, each.use) for each in reports.uses(topic, 0)] for topic in ("payments", "payments.bad", "alerts", "out")
    }
    assert uses == {
        "payments": [("alerts", "reads")],
        "payments.bad": [("alerts", "writes dead letters")],
        "alerts": [("alerts", "writes")],
        "out": [],
    }


def test_records_that_are_no_reports_are_left_out() -> None:
    reports = PipelineReports()
    odd = [b"", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"pipeline": 1}', _progress(lag=7), _progress(input_rows=[1])]
    for value in [*odd, _progress().replace(b'"batch": 0', b'"batch": "x"'), _progress().replace(b'"batch": 0', b'"batch": 1e999')]:
        reports.add(b"alerts.out", value, 0)
    reports.add(b"another.key", _progress(), 0)
    reports.add(None, _progress(), 0)
    reports.add(b"alerts.out", None, 0)
    reports.add(b"alerts.-flow", json.dumps({"event": "flow", "pipeline": "alerts", "sources": [1]}).encode(), 0)
    assert reports.queries("alerts", 0) == []


def test_history_and_pipelines_have_bounds() -> None:
    reports = PipelineReports()
    for number in range(HISTORY_MAX + 5):
        reports.add(b"alerts.out", _progress(number), number)
    assert len(reports.history("alerts", "out")) == HISTORY_MAX
    for number in range(PIPELINES_MAX + 1):
        name = f"p{number}"
        reports.add(f"{name}.out".encode(), _progress(pipeline=name), number)
    assert len(reports.names()) == PIPELINES_MAX


def test_texts_of_a_report_are_safe_to_show() -> None:
    reports, odd = PipelineReports(), "\ud800\u202e"
    node = {"name": odd, "kind": odd, "inputs": [odd], "places": [odd], "dead_letters": odd}
    reports.add(b"alerts.-flow", json.dumps({"event": "flow", "pipeline": "alerts", "steps": [node]}).encode(), 0)
    reports.add(b"alerts.out", _progress(watermark=odd, lag={odd: 1}), 0)
    reports.add(b"alerts.out", json.dumps({"event": "ended", "pipeline": "alerts", "query": "out", "reason": odd}).encode(), 0)
    (query,), flow, safe = reports.queries("alerts", 0), reports.flow("alerts"), "\\ud800\\u202e"
    assert flow is not None
    assert flow.nodes == [FlowNode(safe, safe, "step", [safe], [safe], safe)]
    assert query.last is not None
    assert (query.reason, query.last.watermark, query.last.lag) == (safe, safe, {safe: 1})
