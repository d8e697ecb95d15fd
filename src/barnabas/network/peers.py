"""Clients of other nodes: they connect when first needed, and connect again after the peer closed.

    idle -> dialling -> handshake -> ready
      ^        |            |          |
      +-- backing off <-----+----------+   cannot connect, closed, or invalid response

Requests that come while there is no connection wait for it, in order. When it cannot be made they
all get NETWORK_EXCEPTION, and the next one waits until the backoff is over, so that a caller that
retries at once does not spin. A connection that was useful and then ended is replaced without
waiting, since it is normal for a node to close idle ones.

The caller decides whether and where to try again: only it knows whether a request may be sent
twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.peer_connection import ANSWER_BYTES_MAX, Call, Login, PeerConnection
from barnabas.network.refusals import refuses_connections
from barnabas.wire.frames import ReceiveBuffer
from barnabas.wire.versions import Versions

if TYPE_CHECKING:
    from barnabas.network.tls.client_tls import ClientTls

# As between Kafka's brokers: a node that restarts is back within a second, so no request waits
# longer than that.
RECONNECT_BACKOFF_MS = 50
RECONNECT_BACKOFF_MS_MAX = 1000
# From the first packet to the peer's versions, unless the caller sets another.
SETUP_TIMEOUT_MS = 10_000
# Unanswered requests of one peer; the next is refused. More requests would not help a node that is
# this far behind.
CALLS_WAITING_MAX = 4096
# Addresses that are kept. Nodes come and go, and those that left are dropped: see Peers.at.
PEERS_MAX = 1024

Report = Callable[[str, str], None]


class Peer:
    """One listener of another node. It connects with the first request."""

    def __init__(
        self,
        host: str,
        port: int,
        client_id: str,
        buffer: ReceiveBuffer,
        report: Report,
        *,
        answer_bytes_max: int,
        setup_timeout_ms: int,
        tls: ClientTls | None = None,
        login: Login | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._client_id = client_id
        self._buffer = buffer
        self._report = report
        self._answer_bytes_max = answer_bytes_max
        self._setup_timeout_ms = setup_timeout_ms
        self._tls = tls
        self._login = login
        self._waiting: deque[Call] = deque()
        # Set from the start of dialling; see the table above.
        self._connection: PeerConnection | None = None
        # A connection whose session is nearly over, until its last response has arrived.
        self._retired: PeerConnection | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._setup: asyncio.TimerHandle | None = None
        self._backing_off: asyncio.TimerHandle | None = None
        self._backoff_ms = 0
        self._reported = ""
        self._closed = False

    def send(self, request: Any, *, timeout_ms: int, version_max: int | None = None) -> Promise[Any]:
        """The response, or NETWORK_EXCEPTION, REQUEST_TIMED_OUT or UNSUPPORTED_VERSION, perhaps at
        once.
        """
        connection = self._connection
        unanswered = len(self._waiting) + sum(each.unanswered for each in (connection, self._retired) if each is not None)
        if self._closed or unanswered >= CALLS_WAITING_MAX:
            return Promise.kept(ErrorCode.NETWORK_EXCEPTION)
        if connection is not None and connection.retires_at is not None:
            connection = self._unless_retired(connection, connection.retires_at)
        call = Call(request, version_max)
        call.timer = asyncio.get_running_loop().call_later(max(0, timeout_ms) / 1000, self._timed_out, call)
        if connection is not None and connection.open and not self._waiting:
            connection.send(call)
        else:
            self._waiting.append(call)
            self._dial()
        return call.answer

    def _unless_retired(self, connection: PeerConnection, retires_at: float) -> PeerConnection | None:
        """The connection, or None when its session is nearly over: then the next one logs in again,
        and this one only waits for its last responses."""
        if asyncio.get_running_loop().time() < retires_at:
            return connection
        if self._retired is not None:
            self._retired.close("the session is over")
        self._connection, self._retired = None, connection
        connection.retire()
        return None

    @property
    def versions(self) -> dict[int, Versions] | None:
        """The versions that the peer supports, by API key; None while there is no connection."""
        return self._connection.versions if self._connection is not None else None

    @property
    def idle(self) -> bool:
        return self._connection is None and self._retired is None and not self._waiting

    def _timed_out(self, call: Call) -> None:
        call.timer = None
        if call in self._waiting:
            self._waiting.remove(call)
            call.settle(ErrorCode.REQUEST_TIMED_OUT)
            return
        for connection in (self._connection, self._retired):
            if connection is not None:
                connection.timed_out(call)

    # -- connecting

    def _dial(self) -> None:
        if self._connection is not None or self._backing_off is not None:
            return
        connection = self._connection = PeerConnection(
            self._buffer,
            self._client_id,
            on_ready=self._send_waiting,
            on_lost=lambda reason: self._lost(connection, reason),
            answer_bytes_max=self._answer_bytes_max,
            host=self.host,
            login=self._login,
        )
        loop = asyncio.get_running_loop()
        self._setup = loop.call_later(self._setup_timeout_ms / 1000, self._setup_timed_out)
        self._dialling = loop.create_task(self._connect(connection))

    async def _connect(self, connection: PeerConnection) -> None:
        try:
            loop = asyncio.get_running_loop()
            if self._tls is None:
                await loop.create_connection(lambda: connection, self.host, self.port)
            else:
                await loop.create_connection(lambda: connection, self.host, self.port, ssl=self._tls.context, server_hostname=self.host)
        # The address is unchecked: it came from a registration, and a resolver may refuse it.
        except (OSError, ValueError, OverflowError) as error:
            self._lost(connection, str(error))
        except asyncio.CancelledError:
            self._lost(connection, "timed out while connecting")
        if self._closed:
            connection.close("closed here")

    def _setup_timed_out(self) -> None:
        self._setup = None
        if self._dialling is not None and not self._dialling.done():
            self._dialling.cancel()
        elif self._connection is not None:
            self._connection.close("no connection that can be used in time")

    def _send_waiting(self) -> None:
        self._stop_setup_timer()
        while self._waiting and self._connection is not None and self._connection.open:
            call = self._waiting.popleft()
            if call.abandoned:
                call.settle(None)
            else:
                self._connection.send(call)

    def _lost(self, connection: PeerConnection, reason: str) -> None:
        if connection is self._retired:
            self._retired = None
        # The transport tells of the end later than it was closed, and by then there may be another
        # connection.
        if connection is not self._connection:
            return
        self._connection = None
        self._stop_setup_timer()
        if connection.useful:
            self._backoff_ms = 0
        else:
            self._backoff_ms = min(max(RECONNECT_BACKOFF_MS, 2 * self._backoff_ms), RECONNECT_BACKOFF_MS_MAX)
        if self._closed:
            return
        if connection.useful or reason != self._reported:
            # A node that is down is tried for as long as it is down; one report is enough.
            self._reported = reason
            self._report(f"{self.host}:{self.port}", reason)
        if self._backoff_ms:
            self._backing_off = asyncio.get_running_loop().call_later(self._backoff_ms / 1000, self._backed_off)
        if not connection.became_ready:
            # Fail the calls that waited for this connection. A call that is added from now on, even
            # from inside these callbacks, waits for the next connection.
            failed, self._waiting = self._waiting, deque()
            for call in failed:
                call.settle(ErrorCode.NETWORK_EXCEPTION)
        elif self._waiting:
            self._dial()

    def _backed_off(self) -> None:
        self._backing_off = None
        if self._waiting:
            self._dial()

    def _stop_setup_timer(self) -> None:
        if self._setup is not None:
            self._setup.cancel()
            self._setup = None

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._stop_setup_timer()
        if self._backing_off is not None:
            self._backing_off.cancel()
        if self._dialling is not None:
            self._dialling.cancel()
        for connection in (self._connection, self._retired):
            if connection is not None:
                connection.close("closed here")
        failed, self._waiting = self._waiting, deque()
        for call in failed:
            call.settle(ErrorCode.NETWORK_EXCEPTION)


class Peers:
    """All other nodes that this one sends requests to. Each ``purpose`` has a connection of its
    own: a fetch that waits at the peer for records must not delay a heartbeat.
    """

    # The peers of a test can be cut off.
    peer_class: type[Peer] = Peer

    def __init__(
        self,
        client_id: str,
        *,
        report: Report | None = None,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        setup_timeout_ms: int = SETUP_TIMEOUT_MS,
        tls: ClientTls | None = None,
        login: Login | None = None,
    ) -> None:
        """``report(address, reason)`` is called when a connection could not be made or ended, but
        not again while it keeps failing for the same reason.
        """
        self._client_id = client_id
        self._report = report or _ignore
        self._answer_bytes_max = answer_bytes_max
        self._setup_timeout_ms = setup_timeout_ms
        self._tls = tls
        self._login = login
        self._buffer = ReceiveBuffer()
        self._peers: dict[tuple[str, int, str], Peer] = {}
        self._probes: set[asyncio.Task[bool]] = set()
        self._closed = False

    def at(self, host: str, port: int, purpose: str = "") -> Peer:
        peer = self._peers.get((host, port, purpose))
        if peer is None:
            if len(self._peers) >= PEERS_MAX:
                self._forget_idle()
            peer = self.peer_class(
                host,
                port,
                self._client_id,
                self._buffer,
                self._report,
                answer_bytes_max=self._answer_bytes_max,
                setup_timeout_ms=self._setup_timeout_ms,
                tls=self._tls,
                login=self._login,
            )
            if self._closed:
                peer.close()
            self._peers[host, port, purpose] = peer
        return peer

    def refuses(self, host: str, port: int) -> Promise[bool]:
        answer: Promise[bool] = Promise()
        if self._closed:
            return answer
        probe = asyncio.get_running_loop().create_task(refuses_connections(host, port))
        self._probes.add(probe)
        probe.add_done_callback(lambda _: self._probed(probe, answer))
        return answer

    def _probed(self, probe: asyncio.Task[bool], answer: Promise[bool]) -> None:
        self._probes.discard(probe)
        if not probe.cancelled():
            answer.resolve(probe.result())

    def _forget_idle(self) -> None:
        """A caller that still has one of them may use it; it is only not shared any more."""
        for address, peer in list(self._peers.items()):
            if peer.idle:
                del self._peers[address]

    def close(self) -> None:
        """All calls that wait for a response get NETWORK_EXCEPTION, and so do all later ones."""
        self._closed = True
        for probe in self._probes:
            probe.cancel()
        for peer in self._peers.values():
            peer.close()


def _ignore(address: str, reason: str) -> None:
    pass
