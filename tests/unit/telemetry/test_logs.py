"""Logs: events with keys, one line each where a machine reads them, and a level that may change."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from barnabas.telemetry.log_lines import text_lines
from barnabas.telemetry.logs import FORMAT_VARIABLE, LEVELS, EventLog, LogFormat, named


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_an_event_is_one_line_of_json_with_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog("INFO", log_format=LogFormat.JSON, node_id=3).info("isr shrunk", partition="t-0", removed=[2], lag_ms=31_204)
    (line,) = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "isr shrunk", "level": "info", "node_id": 3, "partition": "t-0", "removed": [2], "lag_ms": 31_204}


def test_values_that_json_lacks_are_written_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog(log_format=LogFormat.JSON).info("odd", value={1, 2}.__class__, raw=b"\xff")
    (line,) = lines(capsys)
    assert line["raw"] == "b'\\xff'"


@pytest.mark.parametrize("level", LEVELS)
def test_events_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str], level: str) -> None:
    log = EventLog(level, log_format=LogFormat.JSON)
    for write in (log.debug, log.info, log.warning, log.error):
        write("event")
    written = [line["level"] for line in lines(capsys)]
    assert written == [name for name, number in (("debug", 10), ("info", 20), ("warning", 30), ("error", 40)) if number >= LEVELS[level]]


def test_the_level_may_change_while_the_node_runs(capsys: pytest.CaptureFixture[str]) -> None:
    log = EventLog("ERROR", log_format=LogFormat.JSON)
    log.info("not yet")
    log.level = "DEBUG"
    log.debug("now")
    assert [line["event"] for line in lines(capsys)] == ["now"]


def test_an_error_carries_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("the reason")
    except ValueError as wrong:
        EventLog(log_format=LogFormat.JSON).error("request failed", exc_info=wrong)
    (line,) = lines(capsys)
    assert "ValueError: the reason" in line["exception"]


def test_a_newline_in_a_value_stays_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Clients must not be able to forge events through the values they send."""
    EventLog(log_format=LogFormat.JSON).info("connection refused", reason='x\n{"event": "forged"}')
    assert [line["event"] for line in lines(capsys)] == ["connection refused"]


# -- text --------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def text_of(event: str, **values: Any) -> str:
    return text_lines(datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC), "INFO", event, values, None, colour=False)


def test_text_is_time_level_event_and_keys_in_one_line() -> None:
    assert text_of("isr shrunk", partition="t-0", removed=[2]) == "2026-01-02 03:04:05.678Z INFO  isr shrunk partition=t-0 removed=[2]"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("two words", '"two words"'),
        ("x level=ERROR", '"x level=ERROR"'),
        ('a "quote"', r'"a \"quote\""'),
        ("line\nbreak\r", r'"line\nbreak\r"'),
        ("\x1b[2J\x07", r'"\x1b[2J\x07"'),
        ("\u2028\u202e\udc80", r'"\u2028\u202e\udc80"'),
        ("Zürich", "Zürich"),
        ("", '""'),
        (0.012345, "0.0123"),
        (12.5, "12.5"),
        (["a b", 1], '["a b", 1]'),
    ],
)
def test_text_escapes_and_quotes_what_a_reader_could_mistake(value: Any, shown: str) -> None:
    assert text_of("event", value=value).partition("value=")[2] == shown


def test_a_terminal_gets_text_in_colour_and_a_pipe_gets_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    EventLog().info("node ready", port=9092)
    assert lines(capsys)[0]["event"] == "node ready"
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    EventLog().info("node ready", port=9092)
    assert "\x1b[" in terminal.getvalue()
    assert "node ready" in terminal.getvalue()


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_a_terminal_without_colours_gets_plain_text(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "dumb")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    EventLog().info("node ready", port=9092)
    assert terminal.getvalue().endswith("INFO  node ready port=9092\n")
    assert "\x1b" not in terminal.getvalue()


def test_the_environment_may_name_the_format(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(FORMAT_VARIABLE, "text")
    EventLog().info("node ready")
    assert capsys.readouterr().err.endswith("INFO  node ready\n")
    EventLog(log_format=LogFormat.JSON).info("node ready")
    assert lines(capsys)[0]["event"] == "node ready"


def test_text_that_is_asked_for_has_no_colour_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    EventLog(log_format=LogFormat.TEXT, node_id=1).warning("log directory is full")
    written = capsys.readouterr().err
    assert written.endswith("Z WARN  log directory is full node_id=1\n")
    assert "\x1b" not in written


def test_no_line_of_a_traceback_looks_like_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("the reason\n2026-01-02 03:04:05.678Z ERROR forged")
    except ValueError as bug:
        EventLog(log_format=LogFormat.TEXT).error("request failed", exc_info=bug)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith("ERROR request failed")
    assert all(line.startswith("    | ") for line in rest)
    assert "    | ValueError: the reason" in rest


def test_a_closed_stderr_does_not_stop_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.isatty = lambda: False  # type: ignore[method-assign]
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    EventLog().info("node ready")


def test_many_names_become_a_few_and_a_count() -> None:
    assert named(["a-0", "a-1"]) == "a-0, a-1"
    assert named([f"t-{index}" for index in range(125)]) == "t-0, t-1, t-2, t-3, t-4 and 120 more"
