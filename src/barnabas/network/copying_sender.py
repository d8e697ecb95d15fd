"""Sending frames whose record batches are on disk through a transport that encrypts.

The kernel cannot send a file over a connection whose bytes this process encrypts, so each region is
read in pieces and written to the transport, as much at a time as the transport takes.

It has the interface of :class:`~barnabas.network.sender.Sender`.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

from barnabas.network.sender import BURST_BYTES_MAX, UNSENT_BYTES_MAX, Region, queue_pieces
from barnabas.wire.frames import OutFrame

# Sixteen records of TLS: large enough that the calls do not count, small enough to stay in the
# processor's cache between reading and encrypting.
PIECE_BYTES = 256 * 1024


class CopyingSender:
    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, progressed: Callable[[], None]) -> None:
        self._loop = loop
        self._transport = transport
        self._progressed = progressed
        self._queue: deque[memoryview | Region] = deque()
        self._turn: asyncio.Handle | None = None
        self.unsent_bytes = 0

    @property
    def busy(self) -> bool:
        """Whether a frame is being sent, so that later ones must queue behind it."""
        return bool(self._queue)

    def send(self, frame: OutFrame | bytes) -> None:
        self.unsent_bytes += queue_pieces(frame, self._queue)
        if self._turn is None:
            self._pump()

    def transport_drained(self) -> None:
        if self._turn is None:
            self._pump()

    def _pump(self) -> None:
        self._turn = None
        budget = BURST_BYTES_MAX
        # Above its limit the transport has called pause_writing, and it calls resume_writing later.
        while self._queue and self._transport.get_write_buffer_size() <= UNSENT_BYTES_MAX:
            if budget <= 0:
                self._turn = self._loop.call_soon(self._pump)
                break
            try:
                written = self._write_first()
            except OSError:
                # The file is gone or shorter than the region, so the frame cannot be completed.
                self._transport.abort()
                return
            budget -= written
            self.unsent_bytes -= written
        self._progressed()

    def _write_first(self) -> int:
        first = self._queue[0]
        if not isinstance(first, Region):
            self._queue.popleft()
            self._transport.write(first)
            return len(first)
        piece = os.pread(first.source.descriptor(), min(PIECE_BYTES, first.end - first.position), first.position)
        if not piece:
            raise OSError("the file is shorter than the region to send")
        first.position += len(piece)
        if first.position == first.end:
            self._queue.popleft()
            first.source.release()
        self._transport.write(piece)
        return len(piece)

    def close(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        for item in self._queue:
            if isinstance(item, Region):
                item.source.release()
        self._queue.clear()
