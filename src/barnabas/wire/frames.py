"""Frames: four bytes of length, then that many bytes. They are read without copying and written in
pieces.

Reading. Bytes arrive in :attr:`FrameReader.target`, and :meth:`FrameReader.received` announces
them. Complete frames are cut out of a receive buffer that all connections share. An incomplete
frame gets a buffer of its own and the rest of it is received straight into that, so only the kernel
copies a megabyte of records. Every frame owns its bytes: a handler may patch record batches inside
it and may keep views of it for any time.

Writing. A response is an :class:`OutFrame`: bytes with *cuts*, which are the positions of record
batches that were never in this process's memory. The sender sends bytes and regions in turn.

No socket is here; ``network/connection`` feeds a reader and sends frames.
"""

from __future__ import annotations

import struct

from barnabas.wire.types import RecordsSource

# All connections of a loop share it, so it may be large: a few hundred small requests in one read.
RECEIVE_BUFFER_BYTES = 256 * 1024
# The buffer of an incomplete frame begins with twice the bytes that have arrived, but no less than
# this, and doubles. So a peer that announces 100 MB and sends nothing costs one buffer of this
# size.
FIRST_ALLOCATION_BYTES = 4096
_LENGTH = struct.Struct(">i")


class ReceiveBuffer:
    """The buffer for bytes of which the frame is not yet known.

    One serves many readers, since receiving and cutting are one step of the event loop: no reader
    keeps anything in it.
    """

    def __init__(self) -> None:
        self.bytes = bytearray(RECEIVE_BUFFER_BYTES)
        self.view = memoryview(self.bytes)


class FrameReader:
    """Cuts a byte stream into frames of at most ``size_bytes_max`` bytes.

    At most one frame is incomplete. Before its length is known its first bytes are in ``_head``;
    from then on it has a buffer of its own, ``_frame``, and the rest is received straight into
    that.
    """

    __slots__ = ("_buffer", "_filled", "_frame", "_head", "_length", "_proven_bytes", "fault", "size_bytes_max")

    def __init__(self, buffer: ReceiveBuffer, size_bytes_max: int) -> None:
        self.size_bytes_max = size_bytes_max
        self._buffer = buffer
        self._head = b""
        self._frame: bytearray | None = None
        self._filled = 0
        self._length = 0
        # The largest frame that this peer has sent so far: a buffer of that size may be allocated
        # at once.
        self._proven_bytes = 0
        # Why the stream cannot be cut any further: a length that is negative, zero or above the
        # limit.
        self.fault: str | None = None

    @property
    def target(self) -> memoryview:
        """The buffer for the next bytes; never empty. Call :meth:`received` before using the target
        of another reader.
        """
        frame = self._frame
        if frame is None:
            return self._buffer.view
        if self._filled == len(frame):
            # Grown by copying and not in place, because the transport may still hold a view of the
            # old buffer.
            grown = bytearray(min(2 * len(frame), self._length))
            grown[: len(frame)] = frame
            self._frame = frame = grown
        return memoryview(frame)[self._filled :]

    def received(self, size_bytes: int) -> list[memoryview]:
        """The frames that ``size_bytes`` more bytes in :attr:`target` complete, without their
        lengths, oldest first.

        Check :attr:`fault` afterwards: one call can return good frames and meet the length that
        ends the stream.
        """
        frame = self._frame
        if frame is not None:
            self._filled += size_bytes
            if self._filled < self._length:
                return []
            self._frame = None
            self._proven_bytes = max(self._proven_bytes, self._length)
            return [memoryview(frame)]
        data = self._buffer.bytes
        if size_bytes > 4 and not self._head:
            # Most reads of a small request contain exactly that request.
            (length,) = _LENGTH.unpack_from(data)
            if length == size_bytes - 4 and length <= self.size_bytes_max:
                return [memoryview(data[4:size_bytes])]
        if self._head:
            data = bytearray(self._head) + data[:size_bytes]
            size_bytes = len(data)
            self._head = b""
        position = 0
        frames: list[memoryview] = []
        while size_bytes - position >= 4:
            (length,) = _LENGTH.unpack_from(data, position)
            if not 0 < length <= self.size_bytes_max:
                self.fault = f"frame of {length} bytes where 1 to {self.size_bytes_max} are allowed"
                return frames
            start = position + 4
            position = start + length
            if position > size_bytes:
                self._begin(length, data, start, size_bytes)
                return frames
            frames.append(memoryview(data[start:position]))
        if position < size_bytes:
            self._head = bytes(data[position:size_bytes])
        return frames

    @property
    def missing_bytes(self) -> int:
        """The bytes that complete the frame under way; 0 while its length is not known."""
        return self._length - self._filled if self._frame is not None else 0

    def _begin(self, length: int, data: bytearray, start: int, stop: int) -> None:
        known = stop - start
        frame = bytearray(min(length, max(FIRST_ALLOCATION_BYTES, 2 * known, self._proven_bytes)))
        frame[:known] = data[start:stop]
        self._frame, self._filled, self._length = frame, known, length

    @property
    def mid_frame(self) -> bool:
        """Whether the peer has begun a frame and not finished it."""
        return self._frame is not None or bool(self._head)


class OutFrame(bytearray):
    """A response being encoded: ``OutFrame(4)`` leaves room for its length. ``cuts`` holds
    (position, source) pairs in order.
    """

    # A class attribute and not set in __init__: most frames have no cuts, and making a list for
    # each costs more than sealing it.
    cuts: list[tuple[int, RecordsSource]] | tuple[()] = ()

    def cut(self, source: RecordsSource) -> None:
        cuts = self.cuts
        if isinstance(cuts, tuple):
            cuts = self.cuts = []
        cuts.append((len(self), source))

    def seal(self) -> None:
        """Write the length, after everything else. It includes the cuts, whose bytes are not in
        this buffer.
        """
        size = len(self) - 4
        for _, source in self.cuts:
            size += len(source)
        _LENGTH.pack_into(self, 0, size)
