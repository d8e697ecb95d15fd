"""Logs: events with keys, one line each where a machine reads them, and a level that may change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.telemetry.logs import LEVELS, EventLog


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_an_event_is_one_line_of_json_with_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog("INFO", json_lines=True, node_id=3).info("isr shrunk", partition="t-0", removed=[2], lag_ms=31_204)
    (line,) = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "isr shrunk", "level": "info", "node_id": 3, "partition": "t-0", "removed": [2], "lag_ms": 31_204}


def test_values_that_json_lacks_are_written_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog(json_lines=True).info("odd", value={1, 2}.__class__, raw=b"\xff")
    (line,) = lines(capsys)
    assert line["raw"] == "b'\\xff'"


@pytest.mark.parametrize("level", LEVELS)
def test_events_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str], level: str) -> None:
    log = EventLog(level, json_lines=True)
    for write in (log.debug, log.info, log.warning, log.error):
        write("event")
    written = [line["level"] for line in lines(capsys)]
    assert written == [name for name, number in (("debug", 10), ("info", 20), ("warning", 30), ("error", 40)) if number >= LEVELS[level]]


def test_the_level_may_change_while_the_node_runs(capsys: pytest.CaptureFixture[str]) -> None:
    log = EventLog("ERROR", json_lines=True)
    log.info("not yet")
    log.level = "DEBUG"
    log.debug("now")
    assert [line["event"] for line in lines(capsys)] == ["now"]


def test_an_error_carries_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("the reason")
    except ValueError as wrong:
        EventLog(json_lines=True).error("request failed", exc_info=wrong)
    (line,) = lines(capsys)
    assert "ValueError: the reason" in line["exception"]


def test_a_newline_in_a_value_stays_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Clients must not be able to forge events through the values they send."""
    EventLog(json_lines=True).info("connection refused", reason='x\n{"event": "forged"}')
    assert [line["event"] for line in lines(capsys)] == ["connection refused"]


def test_a_terminal_gets_text(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog(json_lines=False).info("node ready", port=9092)
    text = capsys.readouterr().err
    assert "node ready" in text
    assert "{" not in text
