"""The console as a process: sockets, signals and the ready line."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import uvicorn

from barnabas.console.app import ConsoleApp
from barnabas.console.services import Services
from barnabas.console.settings import ConsoleSettings, check
from barnabas.telemetry.logs import EventLog

# Connections that wait to be accepted.
BACKLOG: Final = 1024
# Browsers keep connections of live tails open; a stop does not wait for them.
SHUTDOWN_SECONDS_MAX: Final = 3
# Requests at once, live tails included. More are answered with 503.
REQUESTS_AT_ONCE_MAX: Final = 500


def run_console(settings: ConsoleSettings, *, ready: Callable[[str], None]) -> str | None:
    """Returns when the process is asked to stop; a sentence if it could not start. ``ready`` gets
    the address once requests are answered. Raises ``SettingsRefused``."""
    check(settings)
    try:
        listening = listen(settings.host, settings.port)
    except OSError as error:
        return f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}."
    bound = replace(settings, port=listening.getsockname()[1])
    try:
        asyncio.run(_run(bound, listening, lambda: ready(f"{bound.scheme}://{bound.host}:{bound.port}")))
    finally:
        listening.close()
    return None


def listen(host: str, port: int) -> socket.socket:
    """A socket that names its protocol: only then does asyncio set TCP_NODELAY on connections."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def console_server(services: Services) -> uvicorn.Server:
    settings = services.settings
    return _HttpServer(
        services,
        uvicorn.Config(
            ConsoleApp(services),
            ssl_certfile=settings.certificate_file,
            ssl_keyfile=settings.key_file,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=REQUESTS_AT_ONCE_MAX,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS_MAX,
        ),
    )


async def _run(settings: ConsoleSettings, listening: socket.socket, ready: Callable[[], None]) -> None:
    services = Services(settings, EventLog())
    server = console_server(services)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, server)
    loop.call_soon(ready)
    try:
        await server.serve(sockets=[listening])
    finally:
        services.close()


def _stop(server: uvicorn.Server) -> None:
    server.should_exit = True


class _HttpServer(uvicorn.Server):
    """Leaves signals to the process, which has more to stop than the server. Work beside requests
    begins with the server, because it needs its loop."""

    def __init__(self, services: Services, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._services = services

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._services.start_collecting()
        self._services.start_pushing()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
