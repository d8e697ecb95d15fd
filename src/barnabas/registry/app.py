"""The registry as an ASGI application.

A request is taken apart, authenticated, authorised, and then answered here or forwarded: reads are
answered by every instance, writes by the leader.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from barnabas.registry.aliases import follow_alias
from barnabas.registry.content_types import CONTENT_TYPE, content_type_for
from barnabas.registry.core.errors import RegistryError, no_leader
from barnabas.registry.http import Call, answer, refusal, taken_apart
from barnabas.registry.observation import Observation, api_description, health
from barnabas.registry.routes import Route, find_route
from barnabas.registry.service import RegistryService

# How long a write waits for a leader. An instance whose session ended joins the group again within
# five seconds, because the broker delays the first rebalance of a group by three.
LEADER_SECONDS_MAX: Final = 10.0


class Forwarding(Protocol):
    """The way to the leader, if that is another instance."""

    leader_url: str | None

    async def forward(self, call: Call) -> Response: ...


class Gate(Protocol):
    """Authentication and authorisation."""

    async def admit(self, call: Call, route: Route) -> None:
        """Fill in the principal. Raises a RegistryError 401 or 403."""


class RegistryApp:
    def __init__(self, service: RegistryService, gate: Gate | None = None, forwarding: Forwarding | None = None) -> None:
        self._service = service
        self._gate = gate
        self._forwarding = forwarding
        self._observation = Observation(service.state)
        self._leader_news = asyncio.Event()
        self._stopped = False
        self.failure: Callable[[], str | None] = lambda: None
        """Why the topic cannot be read at the moment."""

    def leader_changed(self) -> None:
        """Writes that wait for a leader look again."""
        self._leader_news.set()

    def stop(self) -> None:
        """No write waits for a leader any longer."""
        self._stopped = True
        self._leader_news.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        observed = self._observed(request.url.path) if request.method == "GET" else None
        if observed is not None:
            return observed
        begin = time.monotonic()
        response, route = await self._respond(request)
        self._observation.answered(route, request.method, response.status_code, time.monotonic() - begin)
        return response

    def _observed(self, path: str) -> Response | None:
        leader = self._forwarding.leader_url if self._forwarding is not None else None
        match path:
            case "/health" | "/_health":
                return health(is_leader=self._service.is_leader, leader=leader, failure=self.failure())
            case "/master_available":
                # Probes of Karapace's users ask for this.
                return answer({"master_available": self._service.is_leader or leader is not None})
            case "/metrics":
                return self._observation.metrics(is_leader=self._service.is_leader)
            case "/openapi.json":
                return answer(api_description())
        return None

    async def _respond(self, request: Request) -> tuple[Response, Route | None]:
        route: Route | None = None
        try:
            call = taken_apart(request)
            route = find_route(call)
            follow_alias(self._service.state, call, route)
            if self._gate is not None:
                await self._gate.admit(call, route)
            content_type = content_type_for(request.headers.get("accept", ""))
            if content_type is None:
                raise RegistryError(406, "HTTP 406 Not Acceptable")
            if route.writes:
                await self._await_leader()
                if not self._service.is_leader:
                    return await self._forwarded(call), route
            response = answer(await route.endpoint(self._service, call))
            if content_type != CONTENT_TYPE and response.body:
                response.headers["content-type"] = content_type
            return response, route
        except RegistryError as error:
            return refusal(error), route
        except (UnicodeDecodeError, ValueError):
            return refusal(RegistryError(400, "The path or the query cannot be read.")), route

    async def _await_leader(self) -> None:
        """Returns when a leader is known, or after :data:`LEADER_SECONDS_MAX`."""
        if self._forwarding is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LEADER_SECONDS_MAX):
                while not (self._service.is_leader or self._forwarding.leader_url is not None or self._stopped):
                    self._leader_news.clear()
                    await self._leader_news.wait()

    async def _forwarded(self, call: Call) -> Response:
        if self._forwarding is None or "x-forward" in call.request.headers:
            # A request that was forwarded once stays where it is: two instances that each take the
            # other one for the leader would send it to and fro.
            raise no_leader()
        return await self._forwarding.forward(call)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message: Any = await receive()
        kind = message["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
