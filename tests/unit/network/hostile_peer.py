"""Servers on loopback that answer a node in any way that a test chooses."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import RequestPrefix, read_request_prefix, response_header_version
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from tests.unit.simulated import ConnectedLoop, OnConnection

_LENGTH = struct.Struct(">i")


def framed(payload: bytes) -> bytes:
    return _LENGTH.pack(len(payload)) + payload


def answer(correlation_id: int, response: Any, version: int) -> bytes:
    tags = b"\x00" if response_header_version(type(response), version) == 1 else b""
    return framed(_LENGTH.pack(correlation_id) + tags + encode(response, version))


def greeting(correlation_id: int, offered: dict[ApiKey, tuple[int, int]], version: int = 4) -> bytes:
    keys = [ApiVersion(api_key=key, min_version=lowest, max_version=highest) for key, (lowest, highest) in offered.items()]
    return answer(correlation_id, ApiVersionsResponse(error_code=0, api_keys=keys), version)


class Visitor:
    """One connection on the server's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def frame(self) -> bytes:
        (length,) = _LENGTH.unpack(await self.reader.readexactly(4))
        return await self.reader.readexactly(length)

    async def request(self) -> RequestPrefix:
        return read_request_prefix(await self.frame())

    async def greet(self, offered: dict[ApiKey, tuple[int, int]] | None = None) -> None:
        asked = await self.request()
        assert asked.api_key == ApiKey.API_VERSIONS
        self.writer.write(greeting(asked.correlation_id, offered or {key: _all(key) for key in (ApiKey.METADATA, ApiKey.HEARTBEAT)}))


def _all(key: ApiKey) -> tuple[int, int]:
    lowest, highest = declaration_of(messages(key)[0]).versions
    return lowest, highest


@asynccontextmanager
async def serving(visit: Callable[[Visitor], Awaitable[None]]) -> AsyncIterator[int]:
    """The port of a server that passes every connection to ``visit`` and closes it when that
    returns.
    """
    visits: set[asyncio.Task[Any]] = set()

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        visits.add(task)
        try:
            await visit(Visitor(reader, writer))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async with _listening(visited) as port:
        try:
            yield port
        finally:
            for task in visits:
                task.cancel()
            await asyncio.gather(*visits, return_exceptions=True)


@asynccontextmanager
async def _listening(visited: OnConnection) -> AsyncIterator[int]:
    loop: Any = asyncio.get_running_loop()
    if isinstance(loop, ConnectedLoop):
        port = loop.listen(visited)
        yield port
        loop.stop_listening(port)
        return
    server = await asyncio.start_server(visited, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
