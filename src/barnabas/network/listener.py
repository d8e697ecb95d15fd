"""A listening socket, the connections that it accepted, and the limits on them.

Accepting is done here and not by the loop's server, because each limit treats a new connection
differently:

==========================  =======================================================================
``max.connections``         it waits in the kernel's queue until another one is closed, as in Kafka
``max.connections.per.ip``  it is closed at once, as in Kafka
rate of all connections     it is accepted and served later, and no other one is accepted meanwhile
rate of its address         it is accepted, kept for up to a second and closed, so that its client
                            does not come back at once
descriptors of the process  it is closed at once, so that the client tries again, perhaps at
                            another node; `env.descriptors` bounds all listeners together
==========================  =======================================================================

The first and the last limit concern all clients, and are announced through
:attr:`Listener.at_limit`.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from barnabas.env.descriptors import NONE_LEFT, Descriptors, descriptors
from barnabas.model.dataclass import dataclass
from barnabas.network.client_address import client_address
from barnabas.network.connection import Connection, ServeFrame
from barnabas.network.sender import Duplicates
from barnabas.security.quotas.connection_rates import ConnectionRates
from barnabas.wire.frames import ReceiveBuffer

if TYPE_CHECKING:
    from barnabas.network.tls.server_tls import ServerTls

ACCEPTED_AT_ONCE = 64  # a flood of new connections must not starve the existing ones
SWEEP_SECONDS_MIN = 0.5
# Clients at the limit reconnect again and again; one event a minute is enough to report that.
SAY_SECONDS = 60.0
# Short for a client that waits, and long enough that the loop does other work.
PAUSE_SECONDS = 0.1
# From the connection to the end of the TLS handshake: two round trips and a signature.
HANDSHAKE_SECONDS_MAX = 10.0
# Connections of addresses that come too fast, kept open to slow them down. Further ones are closed
# at once: each costs a descriptor.
HELD_BACK_MAX = 100
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


@dataclass(frozen=True, slots=True)
class AtLimit:
    """New connections are not served because of a limit on all of them."""

    listener: str
    limit: str
    connections_max: int
    closed: int
    """New connections that were closed since the last report; 0 where they wait instead."""
    advice: str


class PortTaken(Exception):
    """The address cannot be listened on; the text is one sentence."""


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
        budget: Descriptors = descriptors,
        tls: ServerTls | None = None,
    ) -> None:
        """``apis`` are the keys that :attr:`serve` knows, which is set before :meth:`start`.
        ``report(address, reason)`` is called when a connection is refused, and ``at_limit`` at most
        every :data:`SAY_SECONDS`.
        """
        self.name = name
        self.tls = tls
        # Whether only nodes of the cluster connect here, so that clients cannot use up this
        # listener's connections.
        self.for_nodes = for_controllers
        # Listeners of one node share one; see `OwnAddresses`.
        self.duplicates = Duplicates(budget)
        self.at_limit: Callable[[AtLimit], None] = lambda _: None
        # Listeners of one node share them.
        self.rates = ConnectionRates()
        # Connections that wait because of a rate. They are served or closed when their time is
        # over.
        self._held_back: dict[socket.socket, asyncio.TimerHandle] = {}
        self._slowed = False
        self._budget = budget
        # Connections that were accepted and not closed since, including those whose protocol the
        # loop has not created yet.
        self._counted = 0
        self._said_at = float("-inf")
        self._closed_at_limit = 0
        self._resume: asyncio.TimerHandle | None = None
        self.apis = apis
        self.for_controllers = for_controllers
        self.limits = limits
        # The largest request of a connection that has not authenticated yet.
        self.first_request_bytes_max = limits.request_bytes_max
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
        # Plain integers, because every read and write adds to them.
        self.bytes_in = 0
        self.bytes_out = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        self.connections_delayed = 0

    def listen(self) -> None:
        """From now on the kernel makes connections, and they wait for :meth:`start`. The machine
        refuses none any more, which would mean that no process is there.
        """
        self._socket.listen(self.limits.backlog)

    def start(self) -> None:
        """Serve connections."""
        self.loop = asyncio.get_running_loop()
        self._started = True
        self.listen()
        self._accept_or_wait()
        self._schedule_sweep()

    def change_limits(self, limits: ConnectionLimits) -> None:
        """For new connections. The size of requests and the buffers stay as they were when the
        listener started.
        """
        self.limits = limits
        if self._started and self._socket.fileno() >= 0:
            self._accept_or_wait()

    def forget_shortcuts(self) -> None:
        """The next request of every connection is decoded, because something that shortcuts do not
        look at has changed."""
        for connection in self.connections:
            connection.shortcut = None

    def _accept_or_wait(self) -> None:
        full = self._counted >= self.limits.connections_max
        wanted = not full and not self._slowed
        if wanted and not self._accepting:
            self.loop.add_reader(self._socket.fileno(), self._accept)
        elif not wanted and self._accepting:
            self.loop.remove_reader(self._socket.fileno())
            if full:
                self._say_at_limit("max.connections", self.limits.connections_max, "New connections wait. Raise max.connections.")
        self._accepting = wanted

    def _say_at_limit(self, limit: str, connections_max: int, advice: str) -> None:
        now = self.loop.time()
        if now - self._said_at >= SAY_SECONDS:
            self._said_at = now
            self.at_limit(AtLimit(self.name, limit, connections_max, self._closed_at_limit, advice))
            self._closed_at_limit = 0

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if not self._accepting:
                return
            try:
                accepted, address = self._budget.call(self._socket.accept)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in NONE_LEFT:
                    self._pause_accepting()
                else:
                    # For example, the peer left while it waited.
                    self._report("", f"cannot accept a connection: {error.strerror}")
                return
            self._admit(accepted, client_address(address[0]))

    def _admit(self, accepted: socket.socket, address: str) -> None:
        """Take a connection, unless connections come too fast."""
        now_ms = int(self.loop.time() * 1000)
        refusal_ms = self.rates.refusal_ms(address, now_ms)
        if refusal_ms:
            self.connections_refused += 1
            self.connections_delayed += 1
            if len(self._held_back) >= HELD_BACK_MAX:
                accepted.close()
            else:
                self._held_back[accepted] = self.loop.call_later(refusal_ms / 1000, self._close_held_back, accepted)
            return
        wait_ms = self.rates.wait_ms(self.name, now_ms, for_nodes=self.for_nodes)
        if not wait_ms:
            self._take(accepted, address)
            return
        self._slowed = True
        self.connections_delayed += 1
        self._held_back[accepted] = self.loop.call_later(wait_ms / 1000, self._take_held_back, accepted, address)
        self._accept_or_wait()

    def _close_held_back(self, accepted: socket.socket) -> None:
        del self._held_back[accepted]
        accepted.close()

    def _take_held_back(self, accepted: socket.socket, address: str) -> None:
        del self._held_back[accepted]
        self._slowed = False
        self._take(accepted, address)
        self._accept_or_wait()

    def _take(self, accepted: socket.socket, address: str) -> None:
        if self._by_address[address] >= self.limits.allowed_from(address):
            self.connections_refused += 1
            self._report(address, f"the address has {self._by_address[address]} connections already")
            accepted.close()
            return
        if not self._count_descriptor():
            self.connections_refused += 1
            self._closed_at_limit += 1
            accepted.close()
            self._say_out_of_descriptors("New connections are closed.")
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

    def _pause_accepting(self) -> None:
        """The process has no descriptor left although connections are within their limit: another
        part of the process holds them. The connection stays in the kernel's queue, so without a
        pause the loop would call again at once and spin.
        """
        self.loop.remove_reader(self._socket.fileno())
        self._accepting = False
        self._resume = self.loop.call_later(PAUSE_SECONDS, self._accept_or_wait)
        self._say_out_of_descriptors("New connections wait.")

    def _say_out_of_descriptors(self, consequence: str) -> None:
        self._say_at_limit(
            "descriptors of the process",
            self._budget.connections_max,
            f"{consequence} Raise the limit of open files (ulimit -n, LimitNOFILE), which is {self._budget.limit}.",
        )

    def _count_descriptor(self) -> bool:
        budget = self._budget
        taken = budget.take(for_node=self.for_nodes) or (self.duplicates.release_idle() and budget.take(for_node=self.for_nodes))
        self._counted += taken
        return taken

    async def _connect(self, accepted: socket.socket, address: str) -> None:
        try:
            await self.loop.connect_accepted_socket(
                lambda: Connection(self, self.serve, accepted, address),
                accepted,
                ssl=self.tls.context if self.tls is not None else None,
                ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX if self.tls is not None else None,
            )
        except OSError as error:
            accepted.close()
            if self.tls is not None:
                self.connections_refused += 1
                self._report(address, f"the TLS handshake failed: {handshake_reason(error)}")
            self._left(address)

    # -- callbacks of connections

    def opened(self, connection: Connection) -> None:
        self.connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self._left(connection.peer_address[0])

    def _left(self, address: str) -> None:
        if self._counted:
            self._counted -= 1
            self._budget.give_back()
        self._by_address[address] -= 1
        if self._by_address[address] <= 0:
            del self._by_address[address]
        if not self.loop.is_closed() and self._socket.fileno() >= 0:
            self._accept_or_wait()

    def refused(self, connection: Connection, reason: str) -> None:
        self.connections_refused += 1
        self._report(connection.peer_address[0], reason)

    # -- idleness

    def _schedule_sweep(self) -> None:
        self._sweep = self.loop.call_later(max(SWEEP_SECONDS_MIN, self.limits.idle_seconds_max / 4), self._close_idle)

    def _close_idle(self) -> None:
        """Connections only note that the peer showed life: reading the clock for every request
        would cost too much.
        """
        now = self.loop.time()
        for connection in list(self.connections):
            if connection.showed_life():
                connection.silent_since = now
            elif now - connection.silent_since > self.limits.idle_seconds_max:
                # Aborted and not closed: closing would wait until the peer has received the rest,
                # which it does not.
                connection.abort()
        self._schedule_sweep()

    # -- stopping

    def stop_accepting(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        if self._resume is not None:
            self._resume.cancel()
        for accepted, timer in self._held_back.items():
            timer.cancel()
            accepted.close()
        self._held_back.clear()
        if self._accepting:
            self.loop.remove_reader(self._socket.fileno())
            self._accepting = False
        self._socket.close()  # harmless the second time

    def close(self) -> None:
        """Close all connections, after sending the responses that are already written."""
        for connection in list(self.connections):
            connection.close()
        # The loop may end before the last of them is closed, while the process continues.
        for _ in range(self._counted):
            self._budget.give_back()
        self._counted = 0
        self.duplicates.forget()


def handshake_reason(error: OSError) -> str:
    """Short, and without the peer's bytes: OpenSSL's reason, or the system's."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, str) and reason:
        return reason.replace("_", " ").lower()
    return error.strerror or "the peer left or took too long"


def _bind(host: str, port: int, limits: ConnectionLimits) -> socket.socket:
    """Binds at once, so that a port in use stops the node before it has any effect."""
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
    except (OSError, OverflowError) as error:
        bound.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PortTaken(f"cannot listen on {host or '0.0.0.0'}:{port}: {reason}.") from error  # noqa: S104
    return bound
