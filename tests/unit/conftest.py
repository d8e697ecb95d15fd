"""tests/unit promises no sockets and no sleeping, and this conftest keeps that promise.

A test of this folder that connects or binds a socket, sleeps, or sets a timer on a real event loop
fails with a sentence. Shells run on the simulated loop instead (``tests/unit/simulated.py``), where
time passes only in the simulation; a test that needs real sockets or real time belongs into
``tests/shells``.
A real loop may still run coroutines that never wait, because ``asyncio.sleep(0)`` only yields.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from tests.unit.both_scanners import needs_compiled, plain_python

INSTEAD = "tests/unit promises no sockets and no sleeping: use tests/unit/simulated.py, or move the test to tests/shells"


@pytest.fixture(autouse=True)
def promise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("connect", "connect_ex", "bind", "listen"):
        monkeypatch.setattr(socket.socket, name, _refuse(f"socket.{name}"))
    monkeypatch.setattr(time, "sleep", _refuse("time.sleep"))
    for name in ("call_later", "call_at"):
        monkeypatch.setattr(asyncio.BaseEventLoop, name, _refuse(f"a timer on a real event loop ({name})"))


@pytest.fixture(scope="module", params=[pytest.param("compiled", marks=needs_compiled), "python"])
def record_scanner(request: pytest.FixtureRequest) -> Iterator[str]:
    """See ``tests/unit/both_scanners.py``."""
    if request.param == "compiled":
        yield request.param
    else:
        with plain_python():
            yield request.param


def _refuse(what: str) -> Any:
    def refused(*_: object, **__: object) -> NoReturn:
        pytest.fail(f"{what}: {INSTEAD}")

    return refused
