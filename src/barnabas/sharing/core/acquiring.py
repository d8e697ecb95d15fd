"""Acquiring: the offsets of a fetch that a member gets, locks and must acknowledge.

A fetch begins at the first offset that may be delivered: one that is available again, or else the
first that was never fetched. Inside of the window offsets are delivered again; behind it whole
batches are delivered for the first time.

Two modes (KIP-1206):

- *batch optimized*: whole batches of the log, so the limit of records is exceeded by up to a batch;
- *record limit*: never more records than the limit. The rest of a batch stays available.

**Isolation.** A record that makes its consumer fail makes it fail for the whole batch, and the
delivery counts of all its records grow. From :attr:`ShareGroupSettings.isolated_from` deliveries on
a batch is therefore delivered alone, and of it only a half, a quarter and so on; a record on its
last attempt comes alone. So the neighbours of a poisonous record are delivered without it before
they reach the limit.

**Aborted transactions.** A group that reads committed records gets no aborted ones: they are
archived in the moment in which they are acquired. They are not written down for that; a later
leader finds them aborted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.sharing.core.offset_run import NO_MEMBER, OffsetRun
from barnabas.sharing.core.record_state import RecordState
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.core.window import Window

BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
# With fewer attempts than this a last attempt is no sign of a poisonous record.
_LAST_ATTEMPT_ALONE_LIMIT_MIN = 3


class LogBatch(NamedTuple):
    """The offsets of a batch in the log, of the first to the last record that it once had."""

    first: int
    last: int


class Acquired(NamedTuple):
    first: int
    last: int
    delivery_count: int


class Acquisition:
    """One call of a member, and what it has got so far."""

    __slots__ = (
        "_alone",
        "_batches",
        "_exact",
        "_limit",
        "_lock_ends_ms",
        "_member_id",
        "_now_ms",
        "_of_batch_max",
        "_settings",
        "_split_at",
        "_taken",
        "_window",
        "acquired",
    )

    def __init__(
        self,
        window: Window,
        settings: ShareGroupSettings,
        member_id: str,
        batches: Sequence[LogBatch],
        *,
        mode: int,
        records_max: int,
        batch_size: int,
        now_ms: int,
    ) -> None:
        """``batches`` are those that the fetch found, in order and not empty. Above ``batch_size``
        records a delivery is reported in several parts."""
        self._window = window
        self._settings = settings
        self._member_id = member_id
        self._batches = batches
        self._exact = mode == RECORD_LIMIT
        self._limit = records_max
        self._split_at = batch_size
        self._now_ms = now_ms
        self._lock_ends_ms = now_ms + settings.lock_duration_ms
        self._taken = 0
        self._alone = False
        self._of_batch_max: int | None = None
        self.acquired: list[Acquired] = []

    def run(self, fetch_offset: int) -> None:
        window, last = self._window, self._batches[-1].last
        room = self._settings.record_locks_max - len(window)
        limit = min(self._limit, room)
        if limit <= 0:
            # The window is full: only offsets inside of it can be delivered.
            limit = min(self._limit, window.next_offset - fetch_offset)
            last = min(last, window.next_offset - 1)
        if limit <= 0 or last < window.start_offset:
            return
        self._limit = limit
        self._redeliver(max(self._batches[0].first, fetch_offset), last)
        if not self._alone and self._taken < self._limit and last >= window.next_offset:
            self._deliver_new(last)

    # -- inside of the window ----------------------------------------------------------------------

    def _redeliver(self, first: int, last: int) -> None:
        batch_first, of_batch = -1, 0
        for run in self._window.within(first, last):
            if self._taken >= self._limit:
                return
            if not run.may_be_acquired(self._now_ms):
                continue
            if run.batch_first != batch_first:
                if self._alone:
                    return
                batch_first, of_batch, self._of_batch_max = run.batch_first, 0, None
                self._alone = self._is_isolated(run, last)
                if self._alone and self._taken:
                    return
            begin = max(run.first, first)
            size = self._how_many(run, begin, min(run.last, last), of_batch)
            if size <= 0:
                return
            part = self._window.carve(run, begin, min(begin + size - 1, run.last, last))
            self._take(part)
            of_batch += len(part)

    def _is_isolated(self, run: OffsetRun, last: int) -> bool:
        """Whether the batch of this run must be delivered without records of other batches."""
        threshold = self._settings.isolated_from
        if run.delivery_count >= threshold or run.is_whole:
            return run.delivery_count >= threshold
        for each in self._window.within(run.last + 1, min(last, run.batch_last)):
            if each.delivery_count >= threshold and each.may_be_acquired(self._now_ms):
                return True
        return False

    def _how_many(self, run: OffsetRun, begin: int, last: int, of_batch: int) -> int:
        """The number of offsets from ``begin`` on to deliver now; at most 0 if they must come alone
        and the batch has given ``of_batch`` others already."""
        count, settings = run.delivery_count, self._settings
        room = self._limit - self._taken
        if count == 0:
            # Never delivered: the rest of a batch, or offsets that an earlier leader delivered and
            # did not write down. Deliveries end where batches of the log do, as for new ones.
            return room if self._exact else self._end_of_batch(begin + room - 1, last) - begin + 1
        limit = settings.delivery_count_limit
        if limit >= _LAST_ATTEMPT_ALONE_LIMIT_MIN and count == limit - 1:
            self._limit = self._taken + 1
            return 0 if of_batch else 1
        size = last - begin + 1
        if count >= settings.isolated_from:
            # The first run that needs isolation decides for the batch.
            if self._of_batch_max is None:
                whole = run.batch_last - run.batch_first + 1
                self._of_batch_max = max(1, whole >> (count - settings.isolated_from + 1))
            size = self._of_batch_max - of_batch
        return min(size, room) if self._exact else size

    def _take(self, run: OffsetRun) -> None:
        run.state = RecordState.ACQUIRED
        run.delivery_count += 1
        run.member_id = self._member_id
        run.lock_ends_ms = self._lock_ends_ms
        run.hidden_until_ms = 0
        self._taken += len(run)
        acquired = self.acquired
        if acquired and not run.is_whole:
            before = acquired[-1]
            if before.last + 1 == run.first and before.first >= run.batch_first and before.delivery_count == run.delivery_count:
                acquired[-1] = Acquired(before.first, run.last, before.delivery_count)
                return
        acquired.append(Acquired(run.first, run.last, run.delivery_count))

    # -- behind the window -------------------------------------------------------------------------

    def _deliver_new(self, last: int) -> None:
        first = max(self._window.next_offset, self._batches[0].first)
        room = self._limit - self._taken
        if last - first + 1 <= room:
            self._add(first, last)
            return
        aligned = self._end_of_batch(first + room - 1, last)
        if not self._exact:
            self._add(first, aligned)
            return
        last = first + room - 1
        window = self._window
        run = OffsetRun(first, aligned, RecordState.AVAILABLE, 0, batch_first=first, batch_last=aligned)
        window.append(run)
        self._take(window.carve(run, first, min(last, aligned)))

    def _add(self, first: int, last: int) -> None:
        """Acquire new offsets, in parts of about ``batch_size`` that end where a batch ends."""
        if not self._exact and last - first + 1 > self._split_at:
            for batch in self._batches:
                if batch.first > last:
                    break
                if batch.first - first >= self._split_at:
                    self._add_one(first, batch.first - 1)
                    first = batch.first
        self._add_one(first, last)

    def _add_one(self, first: int, last: int) -> None:
        run = OffsetRun(
            first,
            last,
            RecordState.ACQUIRED,
            1,
            batch_first=first,
            batch_last=last,
            member_id=self._member_id,
            lock_ends_ms=self._lock_ends_ms,
        )
        self._window.append(run)
        self._taken += len(run)
        self.acquired.append(Acquired(first, last, 1))

    def _end_of_batch(self, offset: int, last: int) -> int:
        """The last offset of the fetched batch that holds ``offset``; ``offset`` itself in a gap.
        At most ``last``."""
        for batch in self._batches:
            if batch.last >= offset:
                return min(batch.last, last) if batch.first <= offset else min(offset, last)
        return min(offset, last)

    # -- read committed ----------------------------------------------------------------------------

    def archive_aborted(self, aborted: Sequence[LogBatch]) -> None:
        """Archive the acquired offsets of these batches, which are in order."""
        for batch in aborted:
            for run in self._window.within(batch.first, batch.last):
                if run.locked and run.member_id == self._member_id and run.lock_ends_ms == self._lock_ends_ms:
                    part = self._window.carve(run, max(run.first, batch.first), min(run.last, batch.last))
                    self._window.set_state(part, RecordState.ARCHIVED)
                    part.member_id = NO_MEMBER
        self.acquired = _without(self.acquired, aborted)


def _without(acquired: Sequence[Acquired], gone: Sequence[LogBatch]) -> list[Acquired]:
    """The parts of ``acquired`` that are in none of the batches."""
    rest: list[Acquired] = []
    for each in acquired:
        first = each.first
        for batch in gone:
            if batch.last < first:
                continue
            if batch.first > each.last:
                break
            if batch.first > first:
                rest.append(Acquired(first, batch.first - 1, each.delivery_count))
            first = batch.last + 1
        if first <= each.last:
            rest.append(Acquired(first, each.last, each.delivery_count))
    return rest
