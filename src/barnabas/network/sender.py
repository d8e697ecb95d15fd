"""Sending frames whose record batches are still on disk: bytes, then ``sendfile``, then bytes
again.

uvloop has no sendfile of its own, and its transport does not accept file regions. So while the
transport has nothing to write, the sender uses its socket directly, through a duplicate of the
descriptor that the loop does not know: the header goes out with MSG_MORE, so that it shares a
packet with the records, and the kernel copies from the page cache to the socket. When the socket is
full, the loop watches the duplicate. While a frame is being sent, all later frames go through here
too, so the order is kept.

The duplicate is made when the first file region is sent. Afterwards it is kept for the next one,
because making it takes several system calls, but only while descriptors are plentiful
(:class:`Duplicates`).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable

from barnabas.env.descriptors import Descriptors
from barnabas.wire.frames import OutFrame
from barnabas.wire.types import RecordsInMemory, RecordsSource

# Response bytes that a peer has not received; above this, no more of its requests are read.
UNSENT_BYTES_MAX = 1024 * 1024
# How many bytes one connection may send before others have their turn.
BURST_BYTES_MAX = 4 * 1024 * 1024


class Region:
    """The progress of sending one region."""

    __slots__ = ("end", "position", "source")

    def __init__(self, source: RecordsSource) -> None:
        self.source = source
        self.position = source.position
        self.end = source.position + len(source)


def queue_pieces(frame: OutFrame | bytes, queue: deque[memoryview | Region]) -> int:
    """Append the pieces of a frame, in memory and in files, in their order. Returns their bytes."""
    start, size_bytes = 0, len(frame)
    view = memoryview(frame)
    for position, source in frame.cuts if isinstance(frame, OutFrame) else ():
        if position > start:
            queue.append(view[start:position])
        queue.append(source.view if isinstance(source, RecordsInMemory) else Region(source))
        size_bytes += len(source)
        start = position
    if start < len(frame):
        queue.append(view[start:])
    return size_bytes


class Duplicates:
    """The second descriptors of one node's connections: counted, and returned when too few are left
    for new connections.

    All calls are on the loop's thread.
    """

    def __init__(self, budget: Descriptors) -> None:
        self._budget = budget
        self._count = 0
        self._idle: set[Sender] = set()

    def make(self, descriptor: int) -> socket.socket:
        made = socket.socket(fileno=self._budget.call(os.dup, descriptor))
        self._count += 1
        self._budget.add()
        return made

    def close(self, duplicate: socket.socket) -> None:
        duplicate.close()
        if self._count:
            self._count -= 1
            self._budget.give_back()

    def came_to_rest(self, sender: Sender) -> None:
        if self._budget.scarce:
            sender.give_duplicate_back()
        else:
            self._idle.add(sender)

    def in_use(self, sender: Sender) -> None:
        self._idle.discard(sender)

    def release_idle(self) -> bool:
        """Returns whether there were any."""
        idle, self._idle = self._idle, set()
        for sender in idle:
            sender.give_duplicate_back()
        return bool(idle)

    def forget(self) -> None:
        """The node has stopped. Its loop may end before asyncio reports the last connections as
        closed, while the process continues.
        """
        for _ in range(self._count):
            self._budget.give_back()
        self._count = 0


class Sender:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, progressed: Callable[[], None], duplicates: Duplicates
    ) -> None:
        self._loop = loop
        self._transport = transport
        self._progressed = progressed
        self._duplicates = duplicates
        self._socket: socket.socket | None = None
        self._queue: deque[memoryview | Region] = deque()
        self._watching = False
        self._waiting_for_transport = False
        self._closed = False
        self.unsent_bytes = 0

    @property
    def busy(self) -> bool:
        """Whether a frame is being sent, so that later ones must queue behind it."""
        return bool(self._queue)

    def send(self, frame: OutFrame | bytes) -> None:
        was_idle = not self._queue
        self.unsent_bytes += queue_pieces(frame, self._queue)
        if was_idle:
            self._pump()
        else:
            # Progress can be negative: the queue grew while the peer received nothing.
            self._progressed()

    def transport_drained(self) -> None:
        if self._waiting_for_transport:
            self._waiting_for_transport = False
            self._transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
            self._pump()

    def _pump(self) -> None:
        if self._closed or self._waiting_for_transport:
            return
        if self._transport.get_write_buffer_size():
            # The transport still holds older responses. With a limit of zero it reports when the
            # last is sent.
            self._waiting_for_transport = True
            self._transport.set_write_buffer_limits(high=0)
            return
        budget = BURST_BYTES_MAX
        try:
            duplicate = self._duplicate()
            while self._queue:
                sent = self._send_first(duplicate)
                self.unsent_bytes -= sent
                budget -= sent
                if budget <= 0 and self._queue:
                    break
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            # Either the peer is gone, which the transport also notices and reports to the
            # connection, or no descriptor was available.
            self._transport.abort()
            return
        self._watch(duplicate, bool(self._queue))
        if not self._queue:
            self._duplicates.came_to_rest(self)
        self._progressed()

    def _duplicate(self) -> socket.socket:
        duplicate = self._socket
        if duplicate is None:
            duplicate = self._socket = self._duplicates.make(self._transport.get_extra_info("socket").fileno())
        else:
            self._duplicates.in_use(self)
        return duplicate

    def give_duplicate_back(self) -> None:
        """Only while nothing is being sent."""
        assert not self._watching, "the loop watches the duplicate"
        if self._socket is not None:
            self._duplicates.close(self._socket)
            self._socket = None

    def _watch(self, duplicate: socket.socket, wanted: bool) -> None:
        """Have the loop call again whenever there is room, until the queue is empty. The loop
        watches all that time, instead of once for each full socket.
        """
        if wanted and not self._watching:
            self._loop.add_writer(duplicate.fileno(), self._pump)
        elif not wanted and self._watching:
            self._loop.remove_writer(duplicate.fileno())
        self._watching = wanted

    def _send_first(self, duplicate: socket.socket) -> int:
        first = self._queue[0]
        if isinstance(first, Region):
            size = min(first.end - first.position, BURST_BYTES_MAX)
            sent = os.sendfile(duplicate.fileno(), first.source.descriptor(), first.position, size)
            if sent == 0:
                # The file is shorter than the region: it was truncated meanwhile, and the frame
                # cannot be completed.
                raise OSError("the file is shorter than the region to send")
            first.position += sent
            if first.position == first.end:
                self._queue.popleft()
                first.source.release()
            return sent
        more = socket.MSG_MORE if len(self._queue) > 1 else 0
        sent = duplicate.send(first, more)
        if sent == len(first):
            self._queue.popleft()
        else:
            self._queue[0] = first[sent:]
        return sent

    def close(self) -> None:
        self._closed = True
        if self._watching:
            assert self._socket is not None
            self._watch(self._socket, False)
        for item in self._queue:
            if isinstance(item, Region):
                item.source.release()
        self._queue.clear()
        self._duplicates.in_use(self)
        self.give_duplicate_back()
