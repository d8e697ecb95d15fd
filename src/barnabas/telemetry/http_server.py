"""A small HTTP server for scrapers and probes: GET and HEAD, one request for each connection.

It has a thread and an event loop of its own, so that a slow scraper cannot hold up the node, and so
that it can answer when the node's loop no longer turns. The port is often open to a whole network,
so everything that a client sends or delays has a limit:

    request          REQUEST_BYTES_MAX, else 431
    sending it       REQUEST_SECONDS_MAX in total, whatever the pace of single bytes, else 408
    reading answers  RESPONSE_SECONDS_MAX, else the connection is aborted
    connections      CONNECTIONS_MAX; the next one replaces the one that has been sending its
                     request for the longest time, so clients that never finish cannot shut
                     others out
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import field
from http import HTTPStatus

from barnabas.model.dataclass import dataclass

# A scraper sends a few hundred bytes.
REQUEST_BYTES_MAX = 8 * 1024
REQUEST_SECONDS_MAX = 5.0
# A page of many topics is some megabytes.
RESPONSE_SECONDS_MAX = 30.0
CONNECTIONS_MAX = 64
STOP_SECONDS_MAX = 5.0
# The pause before the next attempt to accept a connection when the process has no descriptor left.
ACCEPT_PAUSE_SECONDS = 0.1

_METHODS = ("GET", "HEAD")
_END_OF_REQUEST = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    """The names are in lower case."""


@dataclass(frozen=True, slots=True)
class Response:
    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[Request], Awaitable[Response]]


class HttpServer:
    def __init__(self, host: str, port: int, routes: Mapping[str, Route], report: Callable[[str, BaseException], None]) -> None:
        """Raises ``OSError`` when the address is taken. ``routes`` are the paths; ``report`` gets
        the path and the error of a route that failed, on this server's thread."""
        self._routes = routes
        self._report = report
        self._socket = _bind(host, port)
        self.port: int = self._socket.getsockname()[1]
        # Connections whose request has not arrived, oldest first.
        self._sending: dict[asyncio.Task[None], None] = {}
        self._connections: dict[asyncio.Task[None], socket.socket] = {}
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(RuntimeError):  # The thread has ended already.
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_SECONDS_MAX)

    # -- the server's own thread -------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._accept_again()
        await self._stopping.wait()
        self._loop.remove_reader(self._socket)
        tasks, sockets = list(self._connections), [*self._connections.values(), self._socket]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in sockets:
            # A task that was cancelled before its first step has not closed its connection.
            each.close()

    def _accept_again(self) -> None:
        if not self._stopping.is_set():
            self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        """asyncio's own server loses connections that it accepts in the turn in which it is closed:
        their clients would wait for ever."""
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return
        except OSError:  # The process has no descriptor left, or the client has gone.
            self._loop.remove_reader(self._socket)
            self._loop.call_later(ACCEPT_PAUSE_SECONDS, self._accept_again)
            return
        connection.setblocking(False)
        if len(self._connections) >= CONNECTIONS_MAX:
            if not self._sending:
                connection.close()
                return
            oldest = next(iter(self._sending))
            del self._sending[oldest]
            oldest.cancel()
        task = self._loop.create_task(self._connected(connection))
        self._connections[task] = connection
        task.add_done_callback(self._connections.pop)

    async def _connected(self, connection: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._sending[task] = None
        reader, writer = await asyncio.open_connection(sock=connection, limit=REQUEST_BYTES_MAX)
        try:
            await self._talk(task, reader, writer)
        except (asyncio.CancelledError, TimeoutError, OSError):
            writer.transport.abort()
        finally:
            self._sending.pop(task, None)
            writer.close()

    async def _talk(self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _receive(reader)
        self._sending.pop(task, None)
        if request is None:
            return
        response = request if isinstance(request, Response) else await self._answer(request)
        with_body = isinstance(request, Response) or request.method == "GET"
        writer.write(_head(response) + (response.body if with_body else b""))
        async with asyncio.timeout(RESPONSE_SECONDS_MAX):
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async def _answer(self, request: Request) -> Response:
        route = self._routes.get(request.path)
        if route is None:
            return _plain(HTTPStatus.NOT_FOUND, f"There is no such page. Pages: {', '.join(self._routes)}")
        try:
            return await route(request)
        except Exception as error:  # noqa: BLE001 - a task's outermost frame
            self._report(request.path, error)
            return _plain(HTTPStatus.INTERNAL_SERVER_ERROR, "The page could not be made; the node's log says why.")


def _bind(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listening = socket.create_server(address[:2], family=family, backlog=CONNECTIONS_MAX)
    listening.setblocking(False)
    return listening


async def _receive(reader: asyncio.StreamReader) -> Request | Response | None:
    """The request, the response to one that cannot be served, or None if the client has gone."""
    try:
        async with asyncio.timeout(REQUEST_SECONDS_MAX):
            received = await reader.readuntil(_END_OF_REQUEST)
    except TimeoutError:
        return _plain(HTTPStatus.REQUEST_TIMEOUT, f"The request took longer than {REQUEST_SECONDS_MAX:g} s to arrive.")
    except asyncio.LimitOverrunError:
        return _plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"The request is larger than {REQUEST_BYTES_MAX} bytes.")
    except asyncio.IncompleteReadError:
        return None
    return parse_request(received)


def parse_request(received: bytes) -> Request | Response:
    first, *fields = received[: -len(_END_OF_REQUEST)].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[1].startswith("/") or not words[2].startswith("HTTP/1."):
        return _plain(HTTPStatus.BAD_REQUEST, "This port speaks HTTP/1.1.")
    method, target, _ = words
    if method not in _METHODS:
        refusal = _plain(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are served.")
        return Response(refusal.status, refusal.body, headers={"Allow": ", ".join(_METHODS)})
    headers = {name.strip().lower(): value.strip() for name, colon, value in (each.partition(":") for each in fields) if colon}
    return Request(method, target.partition("?")[0], headers)


def _plain(status: HTTPStatus, sentence: str) -> Response:
    return Response(status, sentence.encode() + b"\n")


def _head(response: Response) -> bytes:
    fields = {
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        **response.headers,
        # Probes and metrics change from one request to the next.
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {response.status.value} {response.status.phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
