"""Reads a page of a process, over HTTP on the loopback address.

Python's own HTTP clients would block the thread that serves the pages of the supervisor, so this
one is made of asyncio's streams. It talks to :mod:`barnabas.telemetry.http_server` alone.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

LOOPBACK: Final = "127.0.0.1"
# A node answers a probe after 5 s at the latest. Prometheus waits for 10 s unless told otherwise.
PAGE_SECONDS_MAX: Final = 8.0
# A node with tens of thousands of topics has a page of some ten megabytes.
PAGE_BYTES_MAX: Final = 64 * 1024 * 1024


class Page(NamedTuple):
    status: int
    body: bytes


async def read_page(port: int, path: str) -> Page | None:
    """None if the process does not answer in time, or not as an HTTP server does."""
    try:
        async with asyncio.timeout(PAGE_SECONDS_MAX):
            reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=PAGE_BYTES_MAX)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\nConnection: close\r\n\r\n".encode())
                received = await _until_end(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None
    return parse_page(received)


async def _until_end(reader: asyncio.StreamReader) -> bytes:
    pieces, size = [], 0
    while piece := await reader.read(PAGE_BYTES_MAX - size):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def parse_page(received: bytes) -> Page | None:
    head, end, body = received.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if not end or len(words) < 2 or not words[1].isdigit():
        return None
    return Page(int(words[1]), body)
