"""``/health`` and ``/ready``: what a supervisor asks a node, and answers that need no Kafka client.

Health is a question about the process: does its event loop still turn? An answer of 503 asks the
supervisor for a restart, which would only do harm while a node recovers its logs or closes them.
The loop cannot turn then, so a node that starts or stops is healthy without being asked.

Readiness is a question about the node's service: should clients and rolling restarts count on it?
503 comes with the reasons, in sentences.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from http import HTTPStatus
from time import monotonic
from typing import Any, Protocol, TypeVar

from barnabas.telemetry.http_server import Request, Response

# The loop turns within milliseconds; an overloaded machine may take a second or two.
LOOP_SECONDS_MAX = 5.0

T = TypeVar("T")


class Probed(Protocol):
    """The node, as a supervisor sees it."""

    @property
    def phase(self) -> str | None:
        """A sentence about a node that starts or stops; None while it runs. Any thread may ask."""

    def problems(self) -> list[str]:
        """The reasons why a running node is not ready, in sentences. Called on the node's loop."""

    @property
    def identity(self) -> dict[str, Any]: ...


class Probes:
    def __init__(self, loop: asyncio.AbstractEventLoop, probed: Probed) -> None:
        self._loop = loop
        self._probed = probed

    async def health(self, _: Request) -> Response:
        phase = self._probed.phase
        if phase is not None:
            return self._respond(HTTPStatus.OK, {"status": "alive", "phase": phase})
        started = monotonic()
        try:
            await self._on_loop(lambda: None)
        except (TimeoutError, RuntimeError):
            sentence = f"The event loop has not turned for {LOOP_SECONDS_MAX:g} s."
            return self._respond(HTTPStatus.SERVICE_UNAVAILABLE, {"status": "stuck", "reasons": [sentence]})
        return self._respond(HTTPStatus.OK, {"status": "alive", "loop_seconds": round(monotonic() - started, 6)})

    async def ready(self, _: Request) -> Response:
        phase = self._probed.phase
        try:
            reasons = [phase] if phase is not None else await self._on_loop(self._probed.problems)
        except (TimeoutError, RuntimeError):
            reasons = [f"The event loop has not turned for {LOOP_SECONDS_MAX:g} s."]
        status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
        return self._respond(status, {"status": "not ready" if reasons else "ready", "reasons": reasons})

    def _respond(self, status: HTTPStatus, fields: dict[str, Any]) -> Response:
        body = json.dumps({**fields, **self._probed.identity}) + "\n"
        return Response(status, body.encode(), "application/json")

    async def _on_loop(self, call: Callable[[], T]) -> T:
        """``TimeoutError`` when the node's loop does not turn, ``RuntimeError`` when it is
        closed."""
        answer: Future[T] = Future()

        def run() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(call())
                except BaseException as error:  # noqa: BLE001 - raised where the answer is awaited
                    answer.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return await asyncio.wait_for(asyncio.wrap_future(answer), LOOP_SECONDS_MAX)
