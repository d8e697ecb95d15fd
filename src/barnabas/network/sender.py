"""Sending frames whose record batches are still on disk: bytes, then ``sendfile``, then bytes again.

uvloop has no sendfile of its own and its transport cannot be given file regions. So while the transport has nothing to write, its socket is
used directly, through a duplicate of the descriptor that the loop does not know: the header goes out with MSG_MORE, so that it shares
a packet with the records, and the kernel copies from the page cache to the socket. When the socket is full, the loop watches the
duplicate. Everything sent while a frame is under way goes through here too, so the order is kept.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable

from barnabas.wire.frames import OutFrame
from barnabas.wire.types import RecordsSource

# Answers that a peer has not taken; above this no more of its requests are read.
UNSENT_BYTES_MAX = 1024 * 1024
# One connection may keep the loop this long at most before others have their turn.
BURST_BYTES_MAX = 4 * 1024 * 1024


class _Region:
    """How far a region has been sent."""

    __slots__ = ("end", "position", "source")

    def __init__(self, source: RecordsSource) -> None:
        self.source = source
        self.position = source.position
        self.end = source.position + len(source)


class Sender:
    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, progressed: Callable[[], None]) -> None:
        self._loop = loop
        self._transport = transport
        self._progressed = progressed
        descriptor = transport.get_extra_info("socket").fileno()
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._queue: deque[memoryview | _Region] = deque()
        self._watching = False
        self._waiting_for_transport = False
        self._closed = False
        self.unsent_bytes = 0

    @property
    def busy(self) -> bool:
        """Something is on its way: whatever else is to be sent must queue behind it."""
        return bool(self._queue)

    def send(self, frame: OutFrame | bytes) -> None:
        was_idle = not self._queue
        start = 0
        view = memoryview(frame)
        for position, source in frame.cuts if isinstance(frame, OutFrame) else ():
            if position > start:
                self._queue.append(view[start:position])
            self._queue.append(_Region(source))
            self.unsent_bytes += len(source)
            start = position
        if start < len(frame):
            self._queue.append(view[start:])
        self.unsent_bytes += len(frame)
        if was_idle:
            self._pump()
        else:
            self._progressed()  # backwards: the queue grew while the peer was not taking anything

    def transport_drained(self) -> None:
        if self._waiting_for_transport:
            self._waiting_for_transport = False
            self._transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
            self._pump()

    def _pump(self) -> None:
        if self._closed or self._waiting_for_transport:
            return
        if self._transport.get_write_buffer_size():
            # Older answers are still with the transport. With a limit of zero it tells us when the last has gone.
            self._waiting_for_transport = True
            self._transport.set_write_buffer_limits(high=0)
            return
        budget = BURST_BYTES_MAX
        try:
            while self._queue:
                sent = self._send_first()
                self.unsent_bytes -= sent
                budget -= sent
                if budget <= 0 and self._queue:
                    break
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            # The peer is gone; the transport notices too and tells the connection.
            self._transport.abort()
            return
        self._watch(bool(self._queue))
        self._progressed()

    def _watch(self, wanted: bool) -> None:
        """Have the loop call again whenever there is room, until everything has gone: not once for every time the socket is full."""
        if wanted and not self._watching:
            self._loop.add_writer(self._socket.fileno(), self._pump)
        elif not wanted and self._watching:
            self._loop.remove_writer(self._socket.fileno())
        self._watching = wanted

    def _send_first(self) -> int:
        first = self._queue[0]
        if isinstance(first, _Region):
            size = min(first.end - first.position, BURST_BYTES_MAX)
            sent = os.sendfile(self._socket.fileno(), first.source.descriptor(), first.position, size)
            if sent == 0:
                # The file ends before the region: it was truncated under us, and the frame cannot be completed.
                raise OSError("a file region is shorter than was announced")
            first.position += sent
            if first.position == first.end:
                self._queue.popleft()
                first.source.release()
            return sent
        more = socket.MSG_MORE if len(self._queue) > 1 else 0
        sent = self._socket.send(first, more)
        if sent == len(first):
            self._queue.popleft()
        else:
            self._queue[0] = first[sent:]
        return sent

    def close(self) -> None:
        self._closed = True
        if self._watching:
            self._loop.remove_writer(self._socket.fileno())
        for item in self._queue:
            if isinstance(item, _Region):
                item.source.release()
        self._queue.clear()
        self._socket.close()
