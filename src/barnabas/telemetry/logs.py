"""Logs are events with keys: ``log.info("isr shrunk", partition=tp, removed=[2])``.

An event is one line on stderr, as text for people or as JSON for machines (:mod:`~.log_lines`).
Text is the default on a terminal, JSON everywhere else.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from traceback import format_exception
from typing import Any

from barnabas.telemetry.log_lines import json_line, text_lines

# Kafka's six levels.
LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}
# How JSON names the levels; Python's word for WARN is the longer one.
_JSON_LEVELS = {"WARN": "warning"}
FORMAT_VARIABLE = "BARNABAS_LOG_FORMAT"
# An event about many partitions names this many of them and counts the rest, so that its line stays
# readable.
NAMED_MAX = 5


class LogFormat(Enum):
    TEXT = "text"
    JSON = "json"


class EventLog:
    """One node's log. Its level may be changed while the node runs."""

    def __init__(self, level: str = "INFO", *, log_format: LogFormat | None = None, **context: Any) -> None:
        """Without ``log_format`` the environment may name it; if it does not, a terminal gets text,
        and anything else gets JSON. ``context`` are keys that every event has."""
        self.level = level
        self._format = log_format or _from_environment()
        self._context = context

    def debug(self, event: str, **values: Any) -> None:
        self._write("DEBUG", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._write("INFO", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._write("WARN", event, values)

    def error(self, event: str, **values: Any) -> None:
        self._write("ERROR", event, values)

    def write(self, level: str, event: str, **values: Any) -> None:
        self._write(level, event, values)

    def writes(self, level: str) -> bool:
        """Whether an event of this level would be written."""
        return LEVELS[level] >= LEVELS[self.level]

    @property
    def is_json(self) -> bool:
        """Whether events are lines of JSON on the stderr of now."""
        return not self._is_text(sys.stderr.isatty())

    def _is_text(self, terminal: bool) -> bool:
        return self._format is LogFormat.TEXT or (self._format is None and terminal)

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        if not self.writes(level):
            return
        keys = {**self._context, **values}
        bug = keys.pop("exc_info", None)
        trace = "".join(format_exception(bug)).rstrip("\n") if bug is not None else None
        now = datetime.now(UTC)
        # Look stderr up for every event: tests and parents replace it.
        out = sys.stderr
        terminal = out.isatty()
        if self._is_text(terminal):
            line = text_lines(now, level, event, keys, trace, colour=terminal and _wants_colour())
        else:
            line = json_line(now, _JSON_LEVELS.get(level, level.lower()), event, keys, trace)
        # A full disk or a closed pipe behind stderr must not stop a node that serves its clients.
        with suppress(OSError, ValueError):
            out.write(line + "\n")
            out.flush()


def named(names: list[str]) -> str:
    """``names`` in one value of an event: the first ones, and how many more there are."""
    shown = ", ".join(names[:NAMED_MAX])
    return f"{shown} and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else shown


def _from_environment() -> LogFormat | None:
    """So that the nodes that `barnabas up` starts write as their user asks. A word that is no
    format has no effect; `barnabas server` refuses it."""
    return next((each for each in LogFormat if each.value == os.environ.get(FORMAT_VARIABLE)), None)


def _wants_colour() -> bool:
    """As no-color.org asks: any value of NO_COLOR but the empty one turns colours off."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
