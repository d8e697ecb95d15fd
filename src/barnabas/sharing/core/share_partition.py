"""The share partition: the delivery state of one partition for one share group, on its leader.

The machine has no clock and no disk. Every call brings the time; calls that change what must
survive return a :class:`DeliveryChange`, which the shell writes down and finishes. Several changes
may be unfinished at once, because no two of them touch the same offsets.

Invariants:

- an offset is delivered to one member at a time: it is locked until that member acknowledges it,
  its lock ends, or its session does;
- a delivery counts when it begins, and is never given back;
- a state counts only when it is written down. Until then the offset is neither delivered again nor
  passed by the start of the window. The end of a lock is the exception: see
  :mod:`~barnabas.sharing.core.delivery_change`;
- the window begins at the first offset that is not done.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.coordinators.share.persister import StateBatch
from barnabas.sharing.core.acknowledging import AcknowledgedRange, Acknowledgement, Refusal, begin_change
from barnabas.sharing.core.acquiring import Acquired, Acquisition, LogBatch
from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.offset_run import NO_MEMBER, OffsetRun
from barnabas.sharing.core.record_state import RecordState
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.core.window import Window

NEVER_MS = 2**63


class InvalidShareState(ValueError):
    """The persisted state contradicts itself; the text says where."""


class SharePartition:
    __slots__ = ("_available_from", "alarm_ms", "settings", "window")

    def __init__(self, start_offset: int, batches: Sequence[StateBatch], settings: ShareGroupSettings) -> None:
        """The state as an earlier leader wrote it down.

        Offsets between the batches were delivered then, and no acknowledgement was written: they
        are available, as if never delivered. Raises :class:`InvalidShareState`.
        """
        self.settings = settings
        self.window = window = Window(start_offset)
        # No offset below it is available; None if no offset of the window is.
        self._available_from: int | None = None
        # The machine wants to be called at this time: a lock ends, or a hidden offset shows.
        self.alarm_ms = NEVER_MS
        for batch in batches:
            _load(window, batch)
        if window.advance() or window.runs:
            self._available_from = window.start_offset

    # -- what a fetch may get ----------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        """To be written with every change, as it is at that moment. It is the start that is
        certain, not the one that the change will bring about. A write may count although its answer
        says that it failed; if it had moved the start, the next write would move it back, and the
        coordinator would have forgotten the offsets in between."""
        return self.window.start_offset

    @property
    def complete_count(self) -> int:
        return self.window.complete_count

    def next_fetch_offset(self, now_ms: int) -> int:
        """The first offset that may be delivered."""
        window = self.window
        if self._available_from is None:
            return window.next_offset
        hidden: int | None = None
        runs = window.runs
        for index in range(window.index_of(self._available_from), len(runs)):
            run = runs[index]
            if run.state is RecordState.AVAILABLE and run.change is None:
                if run.hidden_until_ms <= now_ms:
                    self._available_from = run.first if hidden is None else hidden
                    return run.first
                if hidden is None:
                    hidden = run.first
        self._available_from = hidden
        return window.next_offset

    def can_acquire(self, fetch_offset: int) -> bool:
        """Whether a fetch from there may get anything: the window has room, or offsets in it are
        available."""
        return fetch_offset < self.window.next_offset or len(self.window) < self.settings.record_locks_max

    def acquire(
        self,
        member_id: str,
        fetch_offset: int,
        batches: Sequence[LogBatch],
        *,
        mode: int,
        records_max: int,
        batch_size: int,
        now_ms: int,
        aborted: Sequence[LogBatch] = (),
    ) -> list[Acquired]:
        """Deliver offsets of the ``batches`` that a fetch from ``fetch_offset`` has found.

        ``fetch_offset`` is the result of :meth:`next_fetch_offset`. ``aborted`` are those of the
        batches that this group may not see.
        """
        if not batches or records_max <= 0:
            return []
        window = self.window
        self.log_has_none(fetch_offset, batches[0].first)
        acquisition = Acquisition(
            window, self.settings, member_id, batches, mode=mode, records_max=records_max, batch_size=batch_size, now_ms=now_ms
        )
        acquisition.run(fetch_offset)
        if not acquisition.acquired:
            return []
        if self._available_from is None and window.runs[-1].state is RecordState.AVAILABLE:
            # The rest of the last batch.
            self._available_from = window.runs[-1].first
        self.alarm_ms = min(self.alarm_ms, now_ms + self.settings.lock_duration_ms)
        if aborted:
            acquisition.archive_aborted(aborted)
            window.advance()
        return acquisition.acquired

    def log_has_none(self, fetch_offset: int, first: int) -> None:
        """A fetch found nothing before ``first``: compaction has removed these records since they
        were delivered, so they cannot be delivered again. It is not written down; a later leader
        will not find them either."""
        window = self.window
        if fetch_offset >= first or fetch_offset >= window.next_offset:
            return
        for run in window.within(fetch_offset, first - 1):
            if run.state is RecordState.AVAILABLE and run.change is None:
                part = window.carve(run, fetch_offset, first - 1)
                window.set_state(part, RecordState.ARCHIVED)
        window.advance()

    def log_starts_at(self, offset: int) -> None:
        """The log lost its records below ``offset``. The new start is written with the next
        change."""
        if offset > self.window.start_offset:
            self.window.drop_below(offset)

    # -- changes -----------------------------------------------------------------------------------

    def acknowledge(self, member_id: str, ranges: Iterable[AcknowledgedRange], now_ms: int) -> DeliveryChange | Refusal:
        """The change, which is empty if there is nothing to write down; or the refusal of the whole
        request. Ranges are ascending and their types are known."""
        acknowledgement = Acknowledgement(self.window, self.settings, member_id, now_ms)
        for each in ranges:
            refusal = acknowledgement.apply(each)
            if refusal is not None:
                self._roll_back(acknowledgement.change)
                return refusal
        return acknowledgement.change

    def release(self, member_id: str) -> DeliveryChange:
        """The session of a member has ended: its offsets become available to others."""
        change = DeliveryChange()
        for run in self.window.runs:
            if run.locked and run.member_id == member_id:
                begin_change(self.window, run, RecordState.AVAILABLE, change, self.settings)
        return change

    def end_locks(self, now_ms: int) -> list[DeliveryChange]:
        """Make the offsets available whose locks have ended. Returns what must be written: at most
        one change that has been applied, and one that waits for dead letters."""
        applied, waiting = DeliveryChange(certain=True), DeliveryChange(certain=True)
        limit, dead_letters = self.settings.delivery_count_limit, self.settings.dead_letters
        alarm_ms = NEVER_MS
        for run in self.window.runs:
            if run.state is RecordState.AVAILABLE:
                if run.hidden_until_ms > now_ms:
                    alarm_ms = min(alarm_ms, run.hidden_until_ms)
                continue
            if run.state is not RecordState.ACQUIRED:
                continue
            if run.lock_ends_ms > now_ms:
                alarm_ms = min(alarm_ms, run.lock_ends_ms)
                continue
            letters = dead_letters and run.delivery_count >= limit
            begin_change(self.window, run, RecordState.AVAILABLE, waiting if letters else applied, self.settings)
            if not letters:
                self._apply(run)
        self.alarm_ms = alarm_ms
        self.window.advance()
        return [change for change in (applied, waiting) if not change.empty]

    def finish(self, change: DeliveryChange, *, written: bool) -> bool:
        """The change is written down, or could not be. Returns whether offsets may have become
        available, or the window may have got room."""
        if not written and not change.certain:
            self._roll_back(change)
            return False
        for run in self._runs_of(change):
            self._apply(run)
        released = any(batch.delivery_state == RecordState.AVAILABLE for batch in change.batches)
        return self.window.advance() or released

    def _runs_of(self, change: DeliveryChange) -> Iterable[OffsetRun]:
        for first, last in change.spans:
            for run in self.window.within(first, last):
                if run.change is change:
                    yield run

    def _apply(self, run: OffsetRun) -> None:
        run.change = None
        run.member_id = NO_MEMBER
        if run.state is RecordState.AVAILABLE:
            if self._available_from is None or run.first < self._available_from:
                self._available_from = run.first
            if run.hidden_until_ms:
                self.alarm_ms = min(self.alarm_ms, run.hidden_until_ms)

    def _roll_back(self, change: DeliveryChange) -> None:
        for run in self._runs_of(change):
            run.change = None
            run.hidden_until_ms = 0
            self.window.set_state(run, RecordState.ACQUIRED)
            # The lock may have ended meanwhile.
            self.alarm_ms = min(self.alarm_ms, run.lock_ends_ms)


def _load(window: Window, batch: StateBatch) -> None:
    first, last, state, count = batch
    if last < first or (window.runs and first <= window.runs[-1].last):
        raise InvalidShareState(f"the offsets {first} to {last} follow the offset {window.next_offset - 1}")
    if last < window.start_offset:
        return
    first = max(first, window.start_offset)
    if first > window.next_offset:
        gap_first, gap_last = window.next_offset, first - 1
        window.append(OffsetRun(gap_first, gap_last, RecordState.AVAILABLE, 0, batch_first=gap_first, batch_last=gap_last))
    final = state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
    run = OffsetRun(first, last, RecordState.AVAILABLE, count, batch_first=first, batch_last=last)
    window.append(run)
    if final:
        window.set_state(run, RecordState(state))
