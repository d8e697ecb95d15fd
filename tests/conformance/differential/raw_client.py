"""A minimal Kafka client: one socket, one request, one response, in any version and with any
mistake.

Real clients cannot send malformed requests. This one encodes with :mod:`barnabas.wire` (compared
with Kafka's schemas elsewhere) and sends any bytes.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Any, Self

from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import request_header_version, response_header_version
from tests.waiting import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Closed:
    """The broker closed the connection instead of answering."""


class RawClient:
    def __init__(self, address: str, client_id: str | None = "differential") -> None:
        self.address = address
        self._client_id = client_id
        self._correlation_ids = count(1)
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()

    def ask(self, request: Any, version: int) -> Any:
        """The decoded response, or :class:`Closed`. The next call connects again after that."""
        cls = type(request)
        key = ApiKey(declaration_of(cls).key or 0)
        answer = self.exchange(self.frame(key, version, encode(request, version), flexible=request_header_version(cls, version) == 2))
        return answer if isinstance(answer, Closed) else self.read(key, version, answer)

    @staticmethod
    def read(key: ApiKey, version: int, answer: bytes) -> Any:
        response = messages(key)[1]
        # A flexible response header has tagged fields after the correlation id; neither side sends
        # any.
        position = 5 if response_header_version(response, version) == 1 else 4
        decoded, end = decode(response, version, answer, position)
        assert end == len(answer), f"{len(answer) - end} bytes remain behind a {key.api_name} response of version {version}"
        return decoded

    def frame(self, key: int, version: int, body: bytes, *, flexible: bool) -> bytes:
        name = self._client_id
        encoded = b"" if name is None else name.encode()
        header = struct.pack(">hhih", key, version, next(self._correlation_ids), -1 if name is None else len(encoded)) + encoded
        return header + (b"\0" if flexible else b"") + body

    def exchange(self, frame: bytes) -> bytes | Closed:
        """One frame out, one frame in; the correlation id must be the one that was sent."""
        self.send(frame)
        answer = self.receive()
        if not isinstance(answer, Closed):
            assert answer[:4] == frame[4:8], "the answer belongs to another request"
        return answer

    def send(self, frame: bytes) -> None:
        self.send_bytes(struct.pack(">i", len(frame)) + frame)

    def send_bytes(self, data: bytes) -> None:
        if self._socket is None:
            host, _, port = self.address.rpartition(":")
            self._socket = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(data)

    def receive(self) -> bytes | Closed:
        head = self._exactly(4)
        if isinstance(head, Closed):
            return head
        return self._exactly(struct.unpack(">i", head)[0])

    def _exactly(self, size: int) -> bytes | Closed:
        assert self._socket is not None
        data = bytearray()
        while len(data) < size:
            try:
                more = self._socket.recv(size - len(data))
            except ConnectionResetError:
                more = b""
            except TimeoutError:
                self.close()
                raise AssertionError(f"{self.address} does not answer within {PATIENCE_SECONDS:g} seconds") from None
            if not more:
                self.close()
                return Closed()
            data += more
        return bytes(data)
