"""Whole nodes on the simulated network: replacements for their listeners and for their connections
to each other.

Every request and response is encoded to bytes, as over a socket, in the highest version of its API.
A connection is the state that a server keeps for a client between requests; it ends with either
process.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.connection import LATER, Connection, ServeFrame
from barnabas.network.listener import ConnectionLimits
from barnabas.security.principal import ANONYMOUS
from barnabas.simulation.host import Host
from barnabas.simulation.network import Address, Network
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import decoder, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import request_header_version, response_header_version
from barnabas.wire.tagged_fields import skip_tagged_fields

_LENGTH_BYTES = 4
_HEADER = struct.Struct(">hhih")
_CORRELATION_BYTES = 4
# How many connections a server keeps. The oldest are dropped.
CONNECTIONS_MAX = 64


class _Frame:
    """A request in flight, and its connection."""

    __slots__ = ("bytes", "connection")

    def __init__(self, connection: tuple[str, int, str], frame: bytes) -> None:
        self.connection = connection
        self.bytes = frame


class _Connection:
    """The part of :class:`barnabas.network.connection.Connection` that handlers use."""

    def __init__(self, listener: SimulatedListener) -> None:
        self.listener = listener
        self.shortcut: Any = None
        self.peer_address = ("10.0.0.1", 1)
        self.principal = ANONYMOUS
        self.local_address = (listener.host, listener.port)
        self.client_software = ("", "")
        self._waiting: deque[Promise[Any]] = deque()
        self._if_lost: list[Callable[[], object]] = []

    def expect(self) -> Promise[Any]:
        """The promise for a request that is about to be served, in case it is answered later, which
        may be before the serving returns.
        """
        self._waiting.append(Promise())
        return self._waiting[-1]

    def was_answered(self) -> None:
        """Whether the request that was expected last was answered at once."""
        self._waiting.pop()

    def answer(self, reply: Any) -> None:
        waiting = self._waiting.popleft()
        if isinstance(reply, Promise):
            reply.then(lambda frame: waiting.resolve(_sent(frame)))
        else:
            waiting.resolve(_sent(reply))

    def if_lost(self, callback: Callable[[], object]) -> None:
        """A connection ends with the process of its client; the network closes none."""
        self._if_lost.append(callback)

    def lost(self) -> None:
        callbacks, self._if_lost = self._if_lost, []
        for callback in callbacks:
            callback()

    def throttle(self, seconds: float) -> None:
        """Without effect: the nodes of a simulation have no quotas that apply to each other."""

    def close(self) -> None:
        while self._waiting:
            self._waiting.popleft().resolve(ErrorCode.NETWORK_EXCEPTION)


class Unanswered(NamedTuple):
    """A request that a node works on: its API, the host that sent it, and since when, in seconds of
    the loop.
    """

    api: str
    asker: str
    since: float


class SimulatedListener:
    """The port of :class:`barnabas.network.listener.Listener`, as far as a node uses it."""

    def __init__(
        self,
        network: Network,
        own: Host,
        name: str,
        host: str,
        port: int,
        limits: ConnectionLimits,
        *,
        apis: frozenset[int],
        for_controllers: bool,
        report: Callable[[str, str], None],
        tls: None,
    ) -> None:
        """Nothing is encrypted here: TLS changes no decision of a node."""
        assert tls is None
        self.tls = None
        self._network = network
        self._own = own
        self.name = name
        self.host = host
        self.port = port
        self.limits = limits
        self.apis = apis
        self.for_controllers = for_controllers
        self.rates: Any = None
        self.serve: ServeFrame
        self.loop: asyncio.AbstractEventLoop
        self.connections: dict[tuple[str, int, str], Any] = {}
        self.bytes_in = self.bytes_out = self.connections_accepted = self.connections_refused = self.connections_delayed = 0
        self._open = False
        # Requests that arrived before the listener serves; None afterwards.
        self._waiting: list[tuple[_Frame, Promise[Any]]] | None = []
        # Requests without a response yet, with their times: the checker verifies that none is lost.
        self.unanswered: dict[Promise[Any], Unanswered] = {}

    def listen(self) -> None:
        self._network.listen(self._own, self.port, self._receive, self._hung_up)

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._open = True
        self.listen()
        waiting, self._waiting = self._waiting, None
        for frame, answer in waiting or ():
            reply = self._serve(frame)
            if isinstance(reply, Promise):
                reply.then(answer.resolve)
            else:
                answer.resolve(reply)

    def _hung_up(self, name: str, incarnation: int) -> None:
        for key in [each for each in self.connections if each[:2] == (name, incarnation)]:
            self.connections.pop(key).lost()

    def _receive(self, frame: _Frame) -> Any:
        if self._waiting is None:
            return self._serve(frame)
        answer: Promise[Any] = Promise()
        self._waiting.append((frame, answer))
        return answer

    def _serve(self, frame: _Frame) -> Any:
        if not self._open:
            return ErrorCode.NETWORK_EXCEPTION
        connection = self.connections.get(frame.connection)
        if connection is None:
            if len(self.connections) >= CONNECTIONS_MAX:
                del self.connections[next(iter(self.connections))]
            connection = self.connections[frame.connection] = _Connection(self)
        # Every delivery has bytes of its own: handlers change batches in place.
        expected = connection.expect()
        reply = self.serve(_as_connection(connection), memoryview(bytearray(frame.bytes)))
        if reply is LATER:
            return self._noted(frame, expected)
        connection.was_answered()
        return self._noted(frame, reply.map(_sent)) if isinstance(reply, Promise) else _sent(reply)

    def _noted(self, frame: _Frame, reply: Promise[Any]) -> Promise[Any]:
        if not reply.done:
            key = int.from_bytes(frame.bytes[:2], "big")
            self.unanswered[reply] = Unanswered(ApiKey(key).name, frame.connection[0], self.loop.time())
            reply.then(lambda _: self.unanswered.pop(reply))
        return reply

    def forget_shortcuts(self) -> None:
        for connection in self.connections.values():
            connection.shortcut = None

    def change_limits(self, limits: ConnectionLimits) -> None:
        self.limits = limits

    def stop_accepting(self) -> None:
        self._open = False

    def close(self) -> None:
        self._open = False


def _as_connection(connection: Any) -> Connection:
    return connection  # type: ignore[no-any-return]


def _sent(frame: Any) -> bytes | ErrorCode:
    """The frame as it is sent, with the record batches that are still on the disk."""
    if frame is None:
        # There is no response, or the connection was closed instead of one.
        return ErrorCode.NETWORK_EXCEPTION
    parts, start = [], 0
    view = memoryview(frame)
    for position, source in frame.cuts if isinstance(frame, OutFrame) else ():
        parts += [bytes(view[start:position]), source.read()]
        source.release()
        start = position
    parts.append(bytes(view[start:]))
    return b"".join(parts)[_LENGTH_BYTES:]


class FramePeers:
    """The port of :class:`barnabas.network.peers.Peers`."""

    def __init__(self, network: Network, own: Host, client_id: str, **_: Any) -> None:
        """A real node also reports connections that cannot be made; here every connection can."""
        self._network = network
        self._own = own
        self._client_id = client_id.encode()

    def at(self, host: str, port: int, purpose: str = "") -> FramePeer:
        return FramePeer(self._network, self._own, Address(host, port), purpose, self._client_id)

    def refuses(self, host: str, port: int) -> Promise[bool]:
        return self._network.refuses(self._own, Address(host, port))

    def close(self) -> None:
        pass


class FramePeer:
    def __init__(self, network: Network, own: Host, address: Address, purpose: str, client_id: bytes) -> None:
        self._network = network
        self._own = own
        self._address = address
        self._purpose = purpose
        self._client_id = client_id

    @property
    def versions(self) -> None:
        return None

    def send(self, request: Any, *, timeout_ms: int, version_max: int | None = None) -> Promise[Any]:
        kind = type(request)
        key = declaration_of(kind).key
        assert key is not None
        version = stable_versions(ApiKey(key)).highest
        if version_max is not None:
            version = min(version, version_max)
        frame = OutFrame(_LENGTH_BYTES)
        frame += _HEADER.pack(key, version, 0, len(self._client_id)) + self._client_id
        if request_header_version(kind, version) == 2:
            frame.append(0)
        encoder(kind, version)(request, frame)
        connection = (self._own.name, self._own.incarnation, self._purpose)
        asked = self._network.ask(self._own, self._address, _Frame(connection, bytes(frame[_LENGTH_BYTES:])), timeout_ms=max(1, timeout_ms))
        response = messages(ApiKey(key))[1]
        return asked.map(lambda outcome: outcome if isinstance(outcome, ErrorCode) else _read(response, version, outcome))


def _read(response: type[Any], version: int, frame: bytes) -> Any:
    view = memoryview(frame)
    position = _CORRELATION_BYTES
    if response_header_version(response, version) == 1:
        position = skip_tagged_fields(view, position, len(view))
    return decoder(response, version)(view, position)[0]
