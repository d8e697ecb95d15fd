"""Logs are events with keys: ``log.info("isr shrunk", partition=tp, removed=[2])``.

structlog does the work. It is imported when the first event is written, because importing it takes
longer than starting a broker otherwise does; a broker inside a test never writes any.
"""

from __future__ import annotations

import sys
from typing import Any

# Kafka's six levels. Nothing here is written at TRACE, but operators may set it.
LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}


class EventLog:
    """One node's log. Its level may be changed while the node runs."""

    def __init__(self, level: str = "INFO", *, json_lines: bool | None = None, **context: Any) -> None:
        self.level = level
        self._json_lines = json_lines
        self._context = context
        self._logger: Any = None

    def debug(self, event: str, **values: Any) -> None:
        self._write("DEBUG", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._write("INFO", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._write("WARN", event, values)

    def error(self, event: str, **values: Any) -> None:
        self._write("ERROR", event, values)

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        if LEVELS[level] < LEVELS[self.level]:
            return
        if self._logger is None:
            self._logger = self._open()
        getattr(self._logger, {"WARN": "warning"}.get(level, level.lower()))(event, **values)

    def _open(self) -> Any:
        import structlog

        terminal = sys.stderr.isatty() if self._json_lines is None else not self._json_lines
        renderer: Any = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(default=str)
        return structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                renderer,
            ],
        ).bind(**self._context)
