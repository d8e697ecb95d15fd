"""The high watermark of one partition, and the requests that wait for it to advance.

    producers, coordinators   wait until all in-sync replicas have an offset
                              (:meth:`CommitProgress.await_replicas`)
    DeleteRecords             waits until no live replica has lower offsets
                              (:meth:`CommitProgress.await_deletion`)
    consumers' fetches        wait for bytes below the high watermark
    followers' fetches        wait for bytes in the leader's log

The partition decides when the high watermark advances; this module wakes the requests.
"""

from __future__ import annotations

from collections import deque

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.replication.waiting_fetch import WaitingFetch

# The number of appends above the high watermark that are remembered separately. More are counted
# together, and a consumer that waits for many bytes may then be woken a little late.
INVISIBLE_APPENDS_MAX = 1024


class CommitProgress:
    __slots__ = ("_unstable_bytes", "deletions", "followers", "high_watermark", "invisible", "readers", "replicating")

    def __init__(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark
        self.readers: dict[WaitingFetch, None] = {}
        self.followers: dict[WaitingFetch, None] = {}
        # Bytes appended since the read-committed consumers were last woken.
        self._unstable_bytes = 0
        # Appends above the high watermark: end offsets and sizes.
        self.invisible: deque[tuple[int, int]] = deque()
        self.replicating: deque[tuple[int, Promise[ErrorCode]]] = deque()  # Sorted by end offset.
        self.deletions: deque[tuple[int, Promise[ErrorCode]]] = deque()  # With log start offsets.

    # -- acknowledgements and deletions ------------------------------------------------------------

    @property
    def acknowledgements_wait(self) -> bool:
        """Whether a producer or a coordinator waits for the high watermark."""
        return bool(self.replicating)

    def await_replicas(self, end_offset: int) -> Promise[ErrorCode]:
        promise: Promise[ErrorCode] = Promise()
        waiting = self.replicating
        if waiting and waiting[-1][0] > end_offset:
            # A retry of an older batch than those that wait already. It is rare, so sorting is
            # cheap enough.
            self.replicating = deque(sorted([*waiting, (end_offset, promise)], key=lambda each: each[0]))
        else:
            waiting.append((end_offset, promise))
        return promise

    def acknowledge(self, code: ErrorCode) -> None:
        """Resolve waits below the high watermark: all in-sync replicas have these offsets."""
        replicating, high_watermark = self.replicating, self.high_watermark
        while replicating and replicating[0][0] <= high_watermark:
            replicating.popleft()[1].resolve(code)

    def await_deletion(self, offset: int) -> Promise[ErrorCode]:
        promise: Promise[ErrorCode] = Promise()
        self.deletions.append((offset, promise))
        return promise

    def report_deletions(self, low_watermark: int) -> None:
        waiting, self.deletions = self.deletions, deque()
        for offset, promise in waiting:
            if offset <= low_watermark:
                promise.resolve(ErrorCode.NONE)
            else:
                self.deletions.append((offset, promise))

    def end_all_waits(self, code: ErrorCode) -> None:
        """This node no longer leads: fetches return at once, and promises resolve with ``code``."""
        for waiting in [*self.readers, *self.followers]:
            waiting.complete()
        for promises in (self.replicating, self.deletions):
            while promises:
                promises.popleft()[1].resolve(code)

    # -- fetches -----------------------------------------------------------------------------------

    def await_data(self, waiting: WaitingFetch) -> None:
        (self.followers if waiting.follower else self.readers)[waiting] = None

    def stop_waiting(self, waiting: WaitingFetch) -> None:
        (self.followers if waiting.follower else self.readers).pop(waiting, None)

    def wake_readers(self, size_bytes: int, *, stable: bool) -> None:
        """``stable``: no transaction is open below the high watermark.

        While one is open, read-committed consumers are not woken: they could not read the bytes.
        """
        self._unstable_bytes += size_bytes
        for waiting in list(self.readers):
            if not waiting.committed_only:
                waiting.arrived(size_bytes)
            elif stable:
                waiting.arrived(self._unstable_bytes)
        if stable:
            self._unstable_bytes = 0

    def wake_followers(self, size_bytes: int) -> None:
        for waiting in list(self.followers):
            waiting.arrived(size_bytes)

    # -- bytes above the high watermark ------------------------------------------------------------

    def hide(self, end_offset: int, size_bytes: int) -> None:
        """Count a batch that was appended above the high watermark."""
        invisible = self.invisible
        if len(invisible) >= INVISIBLE_APPENDS_MAX:
            size_bytes += invisible.pop()[1]
        invisible.append((end_offset, size_bytes))

    def uncover(self) -> int:
        """The number of bytes that have come below the high watermark since the last call."""
        invisible, high_watermark, size_bytes = self.invisible, self.high_watermark, 0
        while invisible and invisible[0][0] <= high_watermark:
            size_bytes += invisible.popleft()[1]
        return size_bytes

    def was_truncated(self) -> None:
        self.invisible.clear()
