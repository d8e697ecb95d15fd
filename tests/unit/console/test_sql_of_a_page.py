"""A query that a page waits for, without a program that answers it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from barnabas.console.access.sql_process import Ended, Silence, SqlEvent
from barnabas.console.catalogue import OPERATIONS
from barnabas.console.services import Services
from barnabas.console.settings import ClusterSettings, ConsoleSettings
from barnabas.console.views import sql
from barnabas.console.web.call import Call
from barnabas.console.web.sessions import Session
from barnabas.telemetry.logs import EventLog
from tests.unit import simulated

SILENT_SECONDS = 60


def test_a_query_ends_when_its_browser_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    silences = 0

    async def silent_query(*_: Any, **__: Any) -> AsyncGenerator[SqlEvent, None]:
        nonlocal silences
        for _second in range(SILENT_SECONDS):
            silences += 1
            await asyncio.sleep(1)
            yield Silence()
        yield Ended("Done.", is_failure=False)

    monkeypatch.setattr(sql, "run_query", silent_query)
    monkeypatch.setattr(sql, "_missing", lambda call: None)
    services = Services(ConsoleSettings((ClusterSettings("local", "k:1"),)), EventLog("FATAL"))
    messages: list[Message] = [{"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0)

    async def scenario() -> None:
        request = Request({"type": "http", "method": "GET", "headers": []}, receive)
        operation = next(each for each in OPERATIONS if each.name == "run_sql")
        call = Call(operation, {"cluster": "local"}, Session("", 0.0, 0.0), services, request, {"query": "SELECT 1", "run": True})
        await sql.show_sql(call)

    try:
        simulated.run(scenario())
    finally:
        services.close()
    assert (silences, services.queries) == (2, 0)
