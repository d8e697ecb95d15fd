"""A broker that requires credentials and accepts none: enough of the protocol for a client to be
refused properly.

Barnabas does not serve SASL yet, and a pipeline's error does not depend on which broker refuses.
"""

from __future__ import annotations

import socket
import struct
import threading
from types import TracebackType
from typing import Self

_SASL_HANDSHAKE, _API_VERSIONS, _SASL_AUTHENTICATE = 17, 18, 36
_UNSUPPORTED_VERSION, _SASL_AUTHENTICATION_FAILED = 35, 58


class RefusingBroker:
    def __init__(self, reason: str) -> None:
        self._reason = reason.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Closing alone does not wake the thread in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as stream:
            while size := stream.read(4):
                request = stream.read(int.from_bytes(size))
                api, version, correlation = struct.unpack_from(">hhi", request)
                answer = struct.pack(">i", correlation) + self._answer(api, version)
                stream.write(struct.pack(">i", len(answer)) + answer)
                stream.flush()

    def _answer(self, api: int, version: int) -> bytes:
        if api == _API_VERSIONS:
            served = ((_SASL_HANDSHAKE, 0, 1), (_API_VERSIONS, 0, 0), (_SASL_AUTHENTICATE, 0, 0))
            ranges = b"".join(struct.pack(">hhh", *each) for each in served)
            return struct.pack(">hi", _UNSUPPORTED_VERSION if version else 0, len(served)) + ranges
        if api == _SASL_HANDSHAKE:
            return struct.pack(">hih", 0, 1, 5) + b"PLAIN"
        assert api == _SASL_AUTHENTICATE
        return struct.pack(">hh", _SASL_AUTHENTICATION_FAILED, len(self._reason)) + self._reason + struct.pack(">i", 0)
