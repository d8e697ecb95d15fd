"""A listening socket, the connections that came through it, and the limits on them.

Accepting is done here and not by the loop's server, because reaching ``max.connections`` means to stop accepting (newcomers wait in
the kernel's queue until somebody leaves), while too many from one address means to hang up at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from barnabas.network.connection import Connection, ServeFrame
from barnabas.wire.frames import ReceiveBuffer

ACCEPTED_AT_ONCE = 64  # a flood of newcomers must not starve those who are served
SWEEP_SECONDS_MIN = 0.5
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    request_bytes_max: int = 104_857_600
    idle_seconds_max: float = 600.0
    connections_max: int = _NO_LIMIT
    connections_per_address_max: int = _NO_LIMIT
    connections_of_address_max: Mapping[str, int] = field(default_factory=dict)
    backlog: int = 50
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1

    def allowed_from(self, address: str) -> int:
        return self.connections_of_address_max.get(address, self.connections_per_address_max)


class PortTaken(Exception):
    """The address cannot be listened on; one sentence."""


class Listener:
    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        limits: ConnectionLimits,
        *,
        apis: frozenset[int],
        for_controllers: bool,
        report: Callable[[str, str], None],
    ) -> None:
        """``apis`` are the keys that :attr:`serve` knows, which is set before :meth:`start`; ``report(address, reason)`` is told of
        peers that were hung up on."""
        self.name = name
        self.apis = apis
        self.for_controllers = for_controllers
        self.limits = limits
        self.serve: ServeFrame
        self._report = report
        self._socket = _bind(host, port, limits)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self.loop: asyncio.AbstractEventLoop
        self.receive_buffer = ReceiveBuffer()
        self.connections: set[Connection] = set()
        self._by_address: Counter[str] = Counter()
        self._started = False
        self._accepting = False
        self._arriving: set[asyncio.Task[object]] = set()
        self._sweep: asyncio.TimerHandle | None = None
        # Plain integers: they are added to for every read and write.
        self.bytes_in = 0
        self.bytes_out = 0
        self.connections_accepted = 0
        self.connections_refused = 0

    def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._started = True
        self._socket.listen(self.limits.backlog)
        self._accept_or_wait()
        self._schedule_sweep()

    def change_limits(self, limits: ConnectionLimits) -> None:
        """For newcomers; the size of requests and the buffers stay as they were when the listener began."""
        self.limits = limits
        if self._started and self._socket.fileno() >= 0:
            self._accept_or_wait()

    def _accept_or_wait(self) -> None:
        wanted = len(self.connections) + len(self._arriving) < self.limits.connections_max
        if wanted and not self._accepting:
            self.loop.add_reader(self._socket.fileno(), self._accept)
        elif not wanted and self._accepting:
            self.loop.remove_reader(self._socket.fileno())
        self._accepting = wanted

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if not self._accepting:
                return
            try:
                accepted, address = self._socket.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as wrong:
                # Out of descriptors, or the peer left while it waited. Nobody who is connected may suffer for it.
                self._report("", f"cannot accept a connection: {wrong.strerror}")
                return
            self._take(accepted, str(address[0]))

    def _take(self, accepted: socket.socket, address: str) -> None:
        if self._by_address[address] >= self.limits.allowed_from(address):
            self.connections_refused += 1
            self._report(address, f"the address has {self._by_address[address]} connections already")
            accepted.close()
            return
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._by_address[address] += 1
        self.connections_accepted += 1
        task: asyncio.Task[object] = self.loop.create_task(self._connect(accepted, address))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)
        self._accept_or_wait()

    async def _connect(self, accepted: socket.socket, address: str) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: Connection(self, self.serve), accepted)
        except OSError:
            accepted.close()
            self._left(address)

    # -- what connections tell ------------------------------------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        self.connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self._left(connection.peer_address[0])

    def _left(self, address: str) -> None:
        self._by_address[address] -= 1
        if self._by_address[address] <= 0:
            del self._by_address[address]
        if not self.loop.is_closed() and self._socket.fileno() >= 0:
            self._accept_or_wait()

    def refused(self, connection: Connection, reason: str) -> None:
        self.connections_refused += 1
        self._report(connection.peer_address[0], reason)

    # -- idleness -------------------------------------------------------------------------------------------------------------

    def _schedule_sweep(self) -> None:
        self._sweep = self.loop.call_later(max(SWEEP_SECONDS_MIN, self.limits.idle_seconds_max / 4), self._close_idle)

    def _close_idle(self) -> None:
        """Connections note only that they were heard: reading the clock for every request would cost more than it tells."""
        now = self.loop.time()
        for connection in list(self.connections):
            if connection.showed_life():
                connection.silent_since = now
            elif now - connection.silent_since > self.limits.idle_seconds_max:
                # Not closed: that would wait until the peer has taken what it does not take.
                connection.abort()
        self._schedule_sweep()

    # -- stopping -------------------------------------------------------------------------------------------------------------

    def stop_accepting(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        if self._accepting:
            self.loop.remove_reader(self._socket.fileno())
            self._accepting = False
        self._socket.close()  # harmless the second time

    def close(self) -> None:
        """Hang up on everybody, after sending what is already written."""
        for connection in list(self.connections):
            connection.close()


def _bind(host: str, port: int, limits: ConnectionLimits) -> socket.socket:
    """Binds at once, so that a taken port stops the node before it has done anything."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setblocking(False)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if limits.receive_buffer_bytes > 0:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
    if limits.send_buffer_bytes > 0:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as wrong:
        bound.close()
        reason = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
        raise PortTaken(f"cannot listen on {host or '0.0.0.0'}:{port}: {reason}.") from wrong  # noqa: S104
    return bound
