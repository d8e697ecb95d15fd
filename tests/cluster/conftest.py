"""The copiers' runs report at the end of pytest's output."""

from __future__ import annotations

import pytest

from tests.cluster.copiers import reports


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in reports:
        terminalreporter.write_line(f"copying: {line}")
