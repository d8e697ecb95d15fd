"""Frames: four bytes of length, then that many bytes. Reading them in without copying, writing them out in pieces.

Reading. Bytes arrive in :attr:`FrameReader.target` and are announced with :meth:`FrameReader.received`. Small frames are cut
out of a shared receive buffer; once the length of a bigger one is known it gets a buffer of its own size and the
rest of it is received straight into that, so a megabyte of records is copied by the kernel only. Every frame owns its
bytes: a handler may patch record batches inside it and keep views of it for as long as it likes.

Writing. A response is a :class:`OutFrame`: bytes with *cuts*, places where record batches that never were in this process's
memory belong. Who sends it sends bytes and regions in turn.

No socket here; ``network/connection`` feeds a reader and sends frames.
"""

from __future__ import annotations

import struct

from barnabas.wire.types import RecordsSource

RECEIVE_BUFFER_BYTES = 64 * 1024  # a few hundred small requests in one read; what an idle connection costs us
# A big frame's buffer starts at no more than this and doubles as bytes really arrive: a peer that announces
# 100 MB and sends nothing costs one of these, not 100 MB.
FIRST_ALLOCATION_BYTES = 2 * 1024 * 1024
_LENGTH = struct.Struct(">i")


class FrameTooLarge(ValueError):
    """A length that is negative, zero or above the limit: the stream cannot be trusted any further."""


class FrameReader:
    """Cuts a byte stream into frames of at most ``size_bytes_max`` bytes.

    Invariant: at most one frame is incomplete, and it lives either at the start of the shared buffer (when all that is known
    of it fits there) or in ``_big``, never in both.
    """

    __slots__ = ("_big", "_big_filled", "_big_length", "_filled", "_shared", "_shared_view", "size_bytes_max")

    def __init__(self, size_bytes_max: int) -> None:
        self.size_bytes_max = size_bytes_max
        self._shared = bytearray(RECEIVE_BUFFER_BYTES)
        self._shared_view = memoryview(self._shared)
        self._filled = 0
        self._big: bytearray | None = None
        self._big_filled = 0
        self._big_length = 0

    @property
    def target(self) -> memoryview:
        """Where the next bytes belong; never empty."""
        big = self._big
        if big is None:
            return self._shared_view[self._filled :] if self._filled else self._shared_view
        if self._big_filled == len(big):
            # Grown by copying and not in place, because the transport may still hold a view of the old buffer.
            grown = bytearray(min(2 * len(big), self._big_length))
            grown[: len(big)] = big
            self._big = big = grown
        return memoryview(big)[self._big_filled :]

    def received(self, size_bytes: int) -> list[memoryview]:
        """Frames that ``size_bytes`` more bytes in :attr:`target` complete, without their lengths, oldest first."""
        big = self._big
        if big is not None:
            self._big_filled += size_bytes
            if self._big_filled < self._big_length:
                return []
            self._big = None
            return [memoryview(big)]
        filled = self._filled + size_bytes
        shared = self._shared
        position = 0
        frames: list[memoryview] = []
        while filled - position >= 4:
            (length,) = _LENGTH.unpack_from(shared, position)
            if not 0 < length <= self.size_bytes_max:
                raise FrameTooLarge(f"frame of {length} bytes where 1 to {self.size_bytes_max} are allowed")
            stop = position + 4 + length
            if stop > filled:
                if length > RECEIVE_BUFFER_BYTES // 2:
                    self._start_big(length, position + 4, filled)
                    return frames
                break
            frames.append(memoryview(shared[position + 4 : stop]))
            position = stop
        if position and position < filled:
            shared[: filled - position] = shared[position:filled]
        self._filled = filled - position
        return frames

    def _start_big(self, length: int, start: int, filled: int) -> None:
        known = filled - start
        big = bytearray(min(length, FIRST_ALLOCATION_BYTES))
        big[:known] = self._shared_view[start:filled]
        self._big, self._big_filled, self._big_length = big, known, length
        self._filled = 0

    @property
    def mid_frame(self) -> bool:
        """Whether the peer has begun a frame and not finished it."""
        return self._big is not None or self._filled > 0


class OutFrame(bytearray):
    """A response being encoded. ``cuts`` holds (position, source) pairs in order of position."""

    __slots__ = ("cuts",)

    def __init__(self) -> None:
        super().__init__(4)
        self.cuts: list[tuple[int, RecordsSource]] = []

    def cut(self, source: RecordsSource) -> None:
        self.cuts.append((len(self), source))

    def seal(self) -> None:
        """Write the length, after everything else: cuts count, though their bytes are not here."""
        _LENGTH.pack_into(self, 0, len(self) - 4 + sum(len(source) for _, source in self.cuts))
