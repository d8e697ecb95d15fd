"""Pieces of remote logs in memory: a piece that was fetched for one reader serves all, and a
sequential reader finds the next piece already there.

A log object is read in pieces of :data:`PIECE_BYTES`. A reader that asks for a missing piece
fetches it on its own thread; one that asks for a piece in flight waits for it. A request for a
piece whose predecessor is here, or for the first piece of an object, looks like sequential reading,
so the next :data:`PIECES_AHEAD` pieces are fetched on a few threads of this class.

Everything is bounded: all pieces together, and half of that for pieces that no reader has asked for
yet. With more readers than there is room for, pieces would be evicted before a reader asks for
them; then reading ahead pauses, and every reader fetches what it needs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final

from barnabas.model.ids import Uuid
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.store.object_names import ObjectKind, ObjectNames
from barnabas.tiered.store.store import RemoteDataDamaged, RemoteStore

# Twice what a consumer fetches of a partition at once; object stores take about as long for less.
PIECE_BYTES: Final = 2 * 1024 * 1024
PIECES_AHEAD: Final = 2
# Room for ten sequential readers with all the pieces that they can have.
BYTES_MAX: Final = 64 * 1024 * 1024
THREADS: Final = 4
# A piece that is evicted unread was fetched for nothing. Reading ahead resumes after this many
# requests for pieces.
PAUSE_AFTER_WASTE: Final = 64

_Key = tuple[Uuid, int]


class _Piece:
    __slots__ = ("data", "job", "size_bytes", "unasked")

    def __init__(self, size_bytes: int, *, unasked: bool) -> None:
        self.size_bytes = size_bytes
        self.data: Future[bytes] = Future()
        self.job: Future[None] | None = None  # that fetches it ahead
        self.unasked = unasked


class ReadAhead:
    """May be used from any thread."""

    def __init__(
        self, store: RemoteStore, names: ObjectNames, *, piece_bytes: int = PIECE_BYTES, bytes_max: int = BYTES_MAX, threads: int = THREADS
    ) -> None:
        self.piece_bytes = piece_bytes
        self._store = store
        self._names = names
        self._bytes_max = bytes_max
        self._lock = Lock()
        # In the order of last use, the least recent first.
        self._pieces: OrderedDict[_Key, _Piece] = OrderedDict()
        self._bytes = 0
        self._unasked_bytes = 0
        self._pause = 0
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="remote-read-ahead")

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def piece(self, segment: RemoteSegmentMetadata, number: int, following: RemoteSegmentMetadata | None = None) -> bytes:
        """The ``number``-th piece of a segment's log; waits for it if necessary. ``following`` is
        the segment with which a sequential reader would continue.

        Raises ``RemoteStoreError``.
        """
        key = (segment.id.uuid, number)
        with self._lock:
            piece = self._pieces.get(key)
            mine = piece is None
            if piece is None:
                piece = self._add(key, self._size(segment, number), unasked=False)
            else:
                self._pieces.move_to_end(key)
                if piece.unasked:
                    piece.unasked = False
                    self._unasked_bytes -= piece.size_bytes
                # The fetch is still in the queue: this thread is faster.
                mine = piece.job is not None and piece.job.cancel()
                if mine:
                    piece.job = None  # the next reader that asks waits for this fetch
            in_sequence = number == 0 or (segment.id.uuid, number - 1) in self._pieces
            paused = self._pause > 0
            self._pause = max(0, self._pause - 1)
        if in_sequence and not paused:
            self._fetch_ahead(segment, number, following)
        if mine:
            self._fetch(key, piece, segment)
        return piece.data.result()

    def forget(self, uuid: Uuid) -> None:
        """Drop the pieces of a segment; a reader that has one keeps it."""
        with self._lock:
            for key, piece in [each for each in self._pieces.items() if each[0][0] == uuid and each[1].data.done()]:
                self._drop(key, piece)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _size(self, segment: RemoteSegmentMetadata, number: int) -> int:
        return min(self.piece_bytes, segment.size_bytes - number * self.piece_bytes)

    def _fetch_ahead(self, segment: RemoteSegmentMetadata, number: int, following: RemoteSegmentMetadata | None) -> None:
        for wanted, index in self._next_pieces(segment, number, following):
            key = (wanted.id.uuid, index)
            size_bytes = self._size(wanted, index)
            with self._lock:
                if key in self._pieces:
                    continue
                if self._unasked_bytes + size_bytes > self._bytes_max // 2:
                    return
                piece = self._add(key, size_bytes, unasked=True)
                try:
                    piece.job = self._executor.submit(self._fetch, key, piece, wanted)
                except RuntimeError:  # closed in the meantime
                    self._drop(key, piece)
                    return

    def _next_pieces(
        self, segment: RemoteSegmentMetadata, number: int, following: RemoteSegmentMetadata | None
    ) -> Iterable[tuple[RemoteSegmentMetadata, int]]:
        for index in range(number + 1, number + 1 + PIECES_AHEAD):
            if index * self.piece_bytes < segment.size_bytes:
                yield segment, index
            elif following is not None and following.size_bytes:
                yield following, 0
                return

    def _add(self, key: _Key, size_bytes: int, *, unasked: bool) -> _Piece:
        """Call this with the lock held."""
        piece = self._pieces[key] = _Piece(size_bytes, unasked=unasked)
        self._bytes += size_bytes
        if unasked:
            self._unasked_bytes += size_bytes
        while self._bytes > self._bytes_max:
            # Readers wait for the pieces in flight, so those stay. There are at most as many of
            # them as threads, and the limit is exceeded only by them.
            oldest = next((each for each in self._pieces.items() if each[1].data.done()), None)
            if oldest is None:
                break
            if oldest[1].unasked:
                self._pause = PAUSE_AFTER_WASTE
            self._drop(*oldest)
        return piece

    def _drop(self, key: _Key, piece: _Piece) -> None:
        """Call this with the lock held."""
        if self._pieces.get(key) is piece:
            del self._pieces[key]
            self._bytes -= piece.size_bytes
            if piece.unasked:
                piece.unasked = False
                self._unasked_bytes -= piece.size_bytes

    def _fetch(self, key: _Key, piece: _Piece, segment: RemoteSegmentMetadata) -> None:
        name = self._names.name(segment, ObjectKind.LOG)
        try:
            data = self._store.get_range(name, key[1] * self.piece_bytes, piece.size_bytes)
            if len(data) != piece.size_bytes:
                raise RemoteDataDamaged(f"{name} has fewer than the {segment.size_bytes} bytes that were put there")
        except Exception as failure:  # noqa: BLE001 - whoever waits for the piece gets it, whatever it is
            with self._lock:
                self._drop(key, piece)
            piece.data.set_exception(failure)
        else:
            piece.data.set_result(data)
