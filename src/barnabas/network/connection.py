"""One client's connection: it reads frames, serves requests, and sends responses in the order of
the requests.

Requests are served as they arrive, also while earlier ones wait: a produce that waits for replicas
does not delay the next request. Their responses go through :attr:`Connection._replies`, which keeps
the order. The code that serves a request may also answer it at the end of the loop's turn
(:data:`LATER`), together with those of other connections.

Responses leave in one of two ways. Small ones are written to the transport, which sends them at the
end of the loop's turn, together with those of other connections. Responses with file regions go
through :class:`~barnabas.network.sender.Sender`, which sends straight from the file, or under TLS
through :class:`~barnabas.network.copying_sender.CopyingSender`.

Each of these limits stops reading until the peer has caught up, so that the kernel's window slows
it down:

- :data:`REPLIES_WAITING_MAX` requests of one connection in flight;
- :data:`UNSENT_BYTES_MAX` bytes of responses that the peer has not received.

A client that is over its quota is not read from for a time either (:meth:`Connection.throttle`).

One read may hold thousands of requests. Those that are over a limit, or did not get their turn
within :data:`TURN_SECONDS_MAX`, are held back (:attr:`Connection._held`) while the others are
served.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING, Final, cast

from barnabas.model.promise import Promise
from barnabas.network.copying_sender import CopyingSender
from barnabas.network.receive_mark import ReceiveMark
from barnabas.network.sender import UNSENT_BYTES_MAX, Sender
from barnabas.security.principal import ANONYMOUS
from barnabas.wire.frames import FrameReader, OutFrame
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.types import RecordsSource

if TYPE_CHECKING:
    from barnabas.network.listener import Listener
    from barnabas.network.shortcut import Shortcut

# An idempotent producer keeps five in flight; a client that pipelines more than this gains nothing.
REPLIES_WAITING_MAX = 128
# Records of a response up to this size are read and written; larger ones go from the page cache to
# the socket (:mod:`~barnabas.network.sender`).
COPIED_BYTES_MAX = 16 * 1024
# How long the requests of one read may occupy the loop.
TURN_SECONDS_MAX = 0.005


class Later(Enum):
    """Not a reply: the code that serves the request calls :meth:`Connection.answer` before it
    replies to the connection's next request.
    """

    LATER = "later"


LATER: Final = Later.LATER

Frame = OutFrame | bytes
Reply = Frame | Promise[Frame | None] | Later | None
ServeFrame = Callable[["Connection", memoryview], Reply]


class Connection(asyncio.BufferedProtocol):
    def __init__(self, listener: Listener, serve: ServeFrame, accepted: socket.socket, address: str) -> None:
        """``address`` is the one under which the listener counts this connection."""
        self.listener = listener
        self._mark = ReceiveMark(accepted)
        self._serve = serve
        self._own_serve = serve
        self._wrap: Callable[[ServeFrame], ServeFrame] | None = None
        self._loop = listener.loop
        self._reader = FrameReader(listener.receive_buffer, listener.first_request_bytes_max)
        self._replies: deque[Promise[Frame | None]] = deque()
        self._held: deque[memoryview] = deque()
        self._turn_comes = False
        self._sender: Sender | CopyingSender | None = None
        self._transport: asyncio.Transport | None = None
        self._reading = True
        self._paused_by_peer = False
        self._muted = False
        self._throttled: asyncio.TimerHandle | None = None
        self._throttled_until = 0.0
        self._heard = True  # since the last sweep for idle connections
        self._untaken_bytes = 0  # at the last sweep
        self.silent_since = self._loop.time()
        # For requests that repeat earlier ones of this connection.
        self.shortcut: Shortcut | None = None
        self.peer_address: tuple[str, int] = (address, 0)
        self.local_address: tuple[str, int] = ("", 0)
        self.principal = ANONYMOUS
        self.client_software: tuple[str, str] = ("", "")  # name and version, from ApiVersions
        self._if_lost: list[Callable[[], object]] = []

    # -- the transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods of asyncio.Transport without being one.
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
        # A transport does not know its peer if the peer has reset the connection already.
        peer = transport.get_extra_info("peername")
        if peer:
            self.peer_address = (self.peer_address[0], peer[1])
        self.local_address = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self.listener.opened(self)
        tls = self.listener.tls
        if tls is not None:
            principal = tls.principal(transport.get_extra_info("ssl_object"))
            if principal is None:
                self.refuse("ssl.principal.mapping.rules have no name for the client's certificate")
                self.abort()
                return
            self.principal = principal

    def connection_lost(self, error: Exception | None) -> None:
        if self._sender is not None:
            self._sender.close()
        self._transport = None
        if self._throttled is not None:
            self._throttled.cancel()
        for waiting in self._replies:
            waiting.then(_release)
            waiting.abandon()
        self._replies.clear()
        self._held.clear()
        self.listener.closed(self)
        for callback in self._if_lost:
            callback()
        self._if_lost.clear()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.target

    def buffer_updated(self, size_bytes: int) -> None:
        self._heard = True
        self.listener.bytes_in += size_bytes
        frames = self._reader.received(size_bytes)
        if not frames or self._mark.raised:
            self._mark.adjust(self._reader.missing_bytes)
        if len(frames) == 1:
            self._serve_frame(frames[0])
        elif frames:
            self._held.extend(frames)
            self._serve_held()
        if self._reader.fault is not None and not self._held:
            self.refuse(self._reader.fault)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._paused_by_peer = True
        self._adjust_reading()

    def resume_writing(self) -> None:
        self._paused_by_peer = False
        if self._sender is not None:
            self._sender.transport_drained()
        self._adjust_reading()

    # -- serving

    def _serve_frame(self, frame: memoryview) -> None:
        try:
            reply = self._serve(self, frame)
        except MalformedMessage as error:
            self.refuse(str(error))
            return
        if reply is not None and reply is not LATER:
            self.answer(reply)

    def _serve_held(self) -> None:
        turn_ends = monotonic() + TURN_SECONDS_MAX
        while self._held and self._has_room:
            self._serve_frame(self._held.popleft())
            if self._held and monotonic() > turn_ends:
                break
        if self._held or not self._reading:
            self._adjust_reading()

    def _next_turn(self) -> None:
        self._turn_comes = False
        self._serve_held()
        if self._reader.fault is not None and not self._held:
            self.refuse(self._reader.fault)

    def serve_with(self, serve: ServeFrame, *, request_bytes_max: int) -> None:
        """From the next frame on."""
        self._own_serve = serve
        self.intercept(self._wrap)
        self._reader.size_bytes_max = request_bytes_max

    def intercept(self, wrap: Callable[[ServeFrame], ServeFrame] | None) -> None:
        """Put ``wrap`` in front of the function that serves this connection, also of later ones;
        None removes it. Faults of tests do so; without them a request takes no extra step.
        """
        self._wrap = wrap
        self._serve = self._own_serve if wrap is None else wrap(self._own_serve)

    def mute(self) -> None:
        """Read nothing more until :meth:`unmute`."""
        self._muted = True
        self._adjust_reading()

    def unmute(self) -> None:
        self._muted = False
        self._adjust_reading()

    def throttle(self, seconds: float) -> None:
        """Read nothing more for this long; responses leave meanwhile. Of several times the one that
        ends last counts."""
        until = self._loop.time() + seconds
        if self._transport is None or until <= self._throttled_until:
            return
        if self._throttled is not None:
            self._throttled.cancel()
        self._throttled_until = until
        self._throttled = self._loop.call_later(seconds, self._end_throttle)
        self._adjust_reading()

    def _end_throttle(self) -> None:
        self._throttled = None
        self._adjust_reading()

    def refuse(self, reason: str) -> None:
        """Close the connection of a peer that does not speak the protocol."""
        self._held.clear()
        self.listener.refused(self, reason)
        self.close()

    # -- answering

    def answer(self, reply: Frame | Promise[Frame | None]) -> None:
        """Queues a response behind those of earlier requests. Code that served a request
        :data:`LATER` also calls it.
        """
        if type(reply) is bytes and not self._replies and self._sender is None and self._transport is not None:
            # The usual case of a busy producer; the general path below would do the same.
            self.listener.bytes_out += len(reply)
            self._transport.write(reply)
        elif type(reply) is Promise:
            if not reply.done or self._replies:
                self._await(reply)
            elif reply.value is not None:
                self._send(reply.value)
        elif self._replies:
            self._await(Promise.kept(cast(Frame, reply)))
        else:
            self._send(cast(Frame, reply))

    def _await(self, reply: Promise[Frame | None]) -> None:
        self._replies.append(reply)
        reply.then(self._send_ready)
        if len(self._replies) > REPLIES_WAITING_MAX:
            self._adjust_reading()

    def _send_ready(self, _: Frame | None) -> None:
        replies = self._replies
        while replies and replies[0].done:
            frame = replies.popleft().value
            if frame is not None:
                self._send(frame)
        if not self._reading:
            self._adjust_reading()

    def _send(self, frame: Frame) -> None:
        transport = self._transport
        if transport is None:
            _release(frame)
            return
        self.listener.bytes_out += len(frame)
        sender = self._sender
        plain = type(frame) is bytes or not frame.cuts  # type: ignore[union-attr]
        if plain and (sender is None or not sender.busy):
            transport.write(frame)
            return
        if (sender is None or not sender.busy) and _region_bytes(frame) <= COPIED_BYTES_MAX:
            self._send_copied(transport, cast(OutFrame, frame))
            return
        if sender is None:
            sender = self._sender = self._make_sender(transport)
        sender.send(frame)

    def _send_copied(self, transport: asyncio.Transport, frame: OutFrame) -> None:
        """For few bytes, one read and one write cost less than the calls around ``sendfile``."""
        pieces: list[memoryview | bytes] = []
        start, view = 0, memoryview(frame)
        try:
            for position, source in frame.cuts:
                pieces += (view[start:position], _read(source))
                start = position
        except OSError:
            # The file is gone or shorter than the region, so the frame cannot be completed.
            transport.abort()
            return
        finally:
            _release(frame)
        pieces.append(view[start:])
        transport.write(b"".join(pieces))

    def _make_sender(self, transport: asyncio.Transport) -> Sender | CopyingSender:
        if self.listener.tls is not None:
            return CopyingSender(self._loop, transport, self._adjust_reading)
        return Sender(self._loop, transport, self._adjust_reading, self.listener.duplicates)

    @property
    def _has_room(self) -> bool:
        """Whether this peer may send more requests."""
        unsent = self._sender.unsent_bytes if self._sender is not None else 0
        if self._paused_by_peer or self._muted or self._throttled is not None:
            return False
        return len(self._replies) <= REPLIES_WAITING_MAX and unsent <= UNSENT_BYTES_MAX

    def _adjust_reading(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        has_room = self._has_room
        if has_room and self._held and not self._turn_comes:
            self._turn_comes = True
            self._loop.call_soon(self._next_turn)
        wanted = has_room and not self._held
        if wanted and not self._reading:
            self._reading = True
            transport.resume_reading()
        elif not wanted and self._reading:
            self._reading = False
            transport.pause_reading()

    def if_lost(self, callback: Callable[[], object]) -> None:
        """``callback`` is called once, when this connection has ended. Only a handler of one of its
        requests may call this: a connection that has ended serves no more requests."""
        self._if_lost.append(callback)

    def close(self) -> None:
        """Send the responses that are already written, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def showed_life(self) -> bool:
        """Whether the peer sent or received anything since the last call, or is waiting for a
        response.
        """
        heard, self._heard = self._heard, False
        before, self._untaken_bytes = self._untaken_bytes, self._count_untaken()
        if heard or self._untaken_bytes != before:
            return True
        return self._untaken_bytes == 0 and bool(self._replies or self._held)

    def _count_untaken(self) -> int:
        with_transport = self._transport.get_write_buffer_size() if self._transport is not None else 0
        return with_transport + (self._sender.unsent_bytes if self._sender is not None else 0)


def _region_bytes(frame: Frame) -> int:
    return sum(len(source) for _, source in frame.cuts) if isinstance(frame, OutFrame) else 0


def _read(source: RecordsSource) -> bytes:
    data = source.read()
    if len(data) != len(source):
        raise OSError(f"the file has {len(data)} of {len(source)} bytes")
    return data


def _release(frame: Frame | None) -> None:
    """The frame will not be sent, so its files need not stay open."""
    if isinstance(frame, OutFrame):
        for _, source in frame.cuts:
            source.release()
