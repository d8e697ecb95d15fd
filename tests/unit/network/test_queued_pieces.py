"""The pieces of a frame that wait to be sent."""

from __future__ import annotations

from collections import deque

from barnabas.network.sender import Region, queue_pieces
from barnabas.wire.frames import OutFrame
from barnabas.wire.types import RecordsInMemory


def test_records_in_memory_are_sent_from_their_own_buffer() -> None:
    piece = bytes(range(100))
    frame = OutFrame(b"headtail")
    frame.cuts = [(4, RecordsInMemory(memoryview(piece)[10:90]))]
    queue: deque[memoryview | Region] = deque()
    assert queue_pieces(frame, queue) == 8 + 80
    head, records, tail = queue
    assert isinstance(head, memoryview)
    assert isinstance(records, memoryview)
    assert isinstance(tail, memoryview)
    assert b"".join((head, records, tail)) == b"head" + piece[10:90] + b"tail"
    assert records.obj is piece
