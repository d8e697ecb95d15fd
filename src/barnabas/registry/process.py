"""The registry as a process: sockets, signals and the ready line."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from barnabas.registry.core.errors import RegistryError
from barnabas.registry.gate import KafkaGate
from barnabas.registry.server import RegistryServer, RegistrySettings
from barnabas.telemetry.logs import EventLog

# Connections that wait to be accepted.
BACKLOG: Final = 1024


def run_registry(settings: RegistrySettings, clients: Mapping[str, str], *, ready: Callable[[str], None]) -> str | None:
    """Returns when the process is asked to stop; a sentence if it could not start. ``ready`` gets
    the address once requests are answered."""
    try:
        listening = _listening(settings.host, settings.port)
    except OSError as error:
        return f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}."
    # Port 0 becomes the port that the system has chosen, which other instances must know.
    bound = replace(settings, port=listening.getsockname()[1])
    try:
        asyncio.run(_run(bound, clients, listening, lambda: ready(f"{bound.scheme}://{bound.advertised_host or bound.host}:{bound.port}")))
    except RegistryError as error:
        return error.message.rstrip(".") + "."
    finally:
        listening.close()
    return None


def _listening(host: str, port: int) -> socket.socket:
    """A socket that names its protocol: only then does asyncio set TCP_NODELAY on connections.
    Without it every response waits 40 ms, for the acknowledgement between its headers and body."""
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


async def _run(settings: RegistrySettings, clients: Mapping[str, str], listening: socket.socket, ready: Callable[[], None]) -> None:
    log = EventLog()
    gate = _gate(settings, clients, log) if settings.logins else None
    server = RegistryServer(settings, clients, log, gate)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    await server.run(listening, ready)


def _gate(settings: RegistrySettings, clients: Mapping[str, str], log: EventLog) -> KafkaGate:
    return KafkaGate(
        [each.strip() for each in clients["bootstrap.servers"].split(",")],
        clients,
        log,
        super_users=settings.super_users,
        mechanism=settings.login_mechanism,
        uses_acls=settings.uses_acls,
    )
