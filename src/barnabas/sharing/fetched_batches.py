"""The batches that a share fetch finds in the log, from their headers: nothing opens a batch.

Of a region of a segment only the headers are read, up to the offset that the fetch can deliver.
What a member acquires is then sent from the file (:meth:`FetchedBatches.span`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from barnabas.records.batch_header import HEADER_BYTES, LENGTH_OVERHEAD_BYTES, read_header
from barnabas.records.batches import CorruptBatch
from barnabas.sharing.core.acquiring import LogBatch
from barnabas.storage.regions import FileRegion
from barnabas.storage.transaction_index import AbortedTransaction

# Small batches are read together; of a large batch only the header is needed.
HEADERS_READ_BYTES = 4096
# Base offset, length and last offset delta: reading the whole header takes three times as long.
_SPAN = struct.Struct(">qi11xi")


class FetchedBatches:
    """Whole batches at the begin of a region, or of bytes from remote storage. Owns the region:
    :meth:`span` or :meth:`release` gives it up.
    """

    __slots__ = ("_ends", "_producers", "_source", "batches")

    def __init__(self, source: FileRegion | bytes, last_wanted: int, *, with_producers: bool) -> None:
        """Reads headers up to the batch that holds ``last_wanted``. Raises
        :class:`~barnabas.records.batches.CorruptBatch`, and ``OSError`` when the disk failed."""
        self._source = source
        # Where each batch ends in the source.
        self._ends: list[int] = []
        # The producer of each batch, if it is part of a transaction.
        self._producers: list[int | None] | None = [] if with_producers else None
        self.batches: list[LogBatch] = []
        self._walk(last_wanted)

    def _walk(self, last_wanted: int) -> None:
        source, size = self._source, len(self._source)
        chunk = source if isinstance(source, bytes) else b""
        batches, ends, producers = self.batches, self._ends, self._producers
        begin = position = 0
        while position + HEADER_BYTES <= size:
            at = position - begin
            if at + HEADER_BYTES > len(chunk):
                assert isinstance(source, FileRegion)
                chunk, begin, at = source.read_at(position, min(HEADERS_READ_BYTES, size - position)), position, 0
                if len(chunk) < HEADER_BYTES:
                    return
            first, length, last_delta = _SPAN.unpack_from(chunk, at)
            if length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES or last_delta < 0:
                raise CorruptBatch(f"there is no batch at position {position} of what was fetched")
            position += length + LENGTH_OVERHEAD_BYTES
            if position > size:
                # The region ends inside of this batch.
                return
            last = first + last_delta
            batches.append(LogBatch(first, last))
            ends.append(position)
            if producers is not None:
                header = read_header(chunk, at)
                producers.append(header.producer_id if header.transactional and not header.control else None)
            if last >= last_wanted:
                return

    def aborted(self, transactions: Sequence[AbortedTransaction]) -> list[LogBatch]:
        """The batches of these transactions."""
        assert self._producers is not None
        return [
            batch
            for producer, batch in zip(self._producers, self.batches, strict=True)
            if producer is not None
            and any(
                each.producer_id == producer and each.first_offset <= batch.first and batch.last <= each.last_offset
                for each in transactions
            )
        ]

    def span(self, first: int, last: int) -> FileRegion | bytes:
        """The batches that hold the offsets from ``first`` to ``last``."""
        begin, ends, end = 0, self._ends, 0
        for batch, batch_end in zip(self.batches, ends, strict=True):
            if batch.last < first:
                begin = batch_end
            if batch.first > last:
                break
            end = batch_end
        source = self._source
        if isinstance(source, bytes):
            return source[begin:end]
        return source.part(begin, end - begin)

    def release(self) -> None:
        if isinstance(self._source, FileRegion):
            self._source.release()
