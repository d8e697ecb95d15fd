"""Timeouts for busy machines, and the reports of runs at the end of pytest's output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.reports import reports

# These are real processes on a starved machine: the limit is many times what a test takes alone.
# Every wait inside a test ends earlier and names its condition.
SECONDS_MAX = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in reports:
        terminalreporter.write_line(line)
